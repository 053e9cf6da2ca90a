"""Windows of steps for texts that are longer than an encoder's input.

Windows overlap; each step takes its scores from the window that shows the most context around it.
No text is cut off, and the cost grows linearly with the length of the text.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from koala.document import Span
from koala.errors import KoalaError
from koala.inputs.examples import Item
from koala.network.output import Floats, Output

_LOWEST = np.float32(-1e30)
"""Score of a location that the window of a step does not contain."""


@dataclass(frozen=True, slots=True)
class Window:
    """Steps `start` to `stop`, of which `first` to `last` take their scores from this window.

    Both ends are exclusive.
    """

    start: int
    stop: int
    first: int
    last: int


def split_windows(sizes: Sequence[int], most: int) -> list[Window]:
    """Split steps into windows of at most `most` subwords that overlap by about a quarter.

    `sizes` are the steps' numbers of subwords.

    >>> [(w.start, w.stop, w.first, w.last) for w in split_windows([4, 4, 4, 4, 4, 4], 16)]
    [(0, 4, 0, 4), (3, 6, 4, 6)]
    """
    for number, size in enumerate(sizes, 1):
        if size > most:
            raise KoalaError(
                f"Step {number} has {size} subwords; the network reads at most {most} at once. "
                "Split it into several steps."
            )
    spans: list[tuple[int, int]] = []
    start = 0
    while True:
        stop = _find_stop(sizes, start, most)
        spans.append((start, stop))
        if stop == len(sizes):
            break
        # The next window goes back a few steps, for context; it must still end after this one.
        back = stop
        while back - 1 > start and sum(sizes[back - 1 : stop]) <= most // 4:
            back -= 1
        while _find_stop(sizes, back, most) <= stop:
            back += 1
        start = back
    cuts = [0]
    cuts += [(a[1] + b[0] + 1) // 2 for a, b in itertools.pairwise(spans)]
    cuts.append(len(sizes))
    return [Window(*span, *cut) for span, cut in zip(spans, itertools.pairwise(cuts), strict=True)]


def _find_stop(sizes: Sequence[int], start: int, most: int) -> int:
    """Give the end of the longest run of steps from `start` on with at most `most` subwords."""
    stop, total = start, 0
    while stop < len(sizes) and total + sizes[stop] <= most:
        total += sizes[stop]
        stop += 1
    return stop


def cut_items(items: Sequence[Item], window: Window) -> list[Item]:
    """Give entities of one procedure, cut to a window of its steps."""
    procedure = items[0].procedure
    cut = replace(
        procedure,
        steps=procedure.steps[window.start : window.stop],
        entities=tuple(
            replace(entity, mentions=_shift(entity.mentions, window))
            for entity in procedure.entities
        ),
        candidates=tuple(
            replace(candidate, mentions=mentions)
            for candidate in procedure.candidates
            if (mentions := _shift(candidate.mentions, window)) or candidate.number
        ),
    )
    return [Item(cut, item.entity, item.triples) for item in items]


def _shift(spans: Sequence[Span], window: Window) -> tuple[Span, ...]:
    return tuple(
        Span(span.step - window.start, span.start, span.end)
        for span in spans
        if window.start <= span.step < window.stop
    )


def join_outputs(
    items: Sequence[Item], windows: Sequence[Window], outputs: Sequence[Output]
) -> Output:
    """Join the outputs of all windows, in their order, for the entities of one procedure."""
    procedure = items[0].procedure
    n_steps, n_candidates = len(procedure.steps), 1 + len(procedure.candidates)
    number = {candidate.name: i for i, candidate in enumerate(procedure.candidates, 1)}
    n_tags = outputs[0].tags.shape[-1]
    tags = np.zeros((len(items), n_steps, n_tags), dtype=np.float32)
    locations = np.full((len(items), n_steps + 1, n_candidates), _LOWEST, dtype=np.float32)
    n_triples = 0 if outputs[0].attention is None else outputs[0].attention.shape[2]
    attention = np.zeros((len(items), n_steps, n_triples), dtype=np.float32)
    has_locations = outputs[0].location_attention is not None
    shape = (len(items), n_candidates if has_locations else 0, n_steps + 1, n_triples)
    location_attention = np.zeros(shape, dtype=np.float32)
    for window, output in zip(windows, outputs, strict=True):
        scored = slice(window.first, window.last)
        local = slice(window.first - window.start, window.last - window.start)
        tags[:, scored] = output.tags[:, local]
        if output.attention is not None:
            attention[:, scored] = output.attention[:, local]
        names = [c.name for c in procedure.candidates if _shift(c.mentions, window) or c.number]
        columns = [0, *(number[name] for name in names)]
        # Row p + 1 is after step p; row 0, before the first step, comes from the first window.
        rows = np.arange(window.first + bool(window.first), window.last + 1)
        scores = output.locations[:, rows - window.start, : len(columns)]
        locations[:, rows[:, None], columns] = scores
        if output.location_attention is not None:
            own = output.location_attention[:, : len(columns), rows - window.start]
            location_attention[:, np.array(columns)[:, None], rows] = own
    return replace(
        outputs[0],
        tags=tags,
        locations=locations,
        n_steps=np.full(len(items), n_steps, dtype=np.int64),
        n_candidates=np.full(len(items), n_candidates, dtype=np.int64),
        attention=None if outputs[0].attention is None else attention,
        location_attention=location_attention if has_locations else None,
    )


def stack_outputs(outputs: Sequence[Output]) -> Output:
    """Stack the outputs of several procedures into one, padded to the longest."""
    n_steps = max(output.tags.shape[1] for output in outputs)
    n_candidates = max(output.locations.shape[2] for output in outputs)
    n_triples = max(o.attention.shape[2] if o.attention is not None else 0 for o in outputs)

    def pad(array: Floats, *shape: int, fill: float = 0.0) -> Floats:
        """Pad the axes after the first to the given lengths; further axes stay as they are."""
        widths = [(0, 0)] * array.ndim
        for axis, size in enumerate(shape, 1):
            widths[axis] = (0, size - array.shape[axis])
        return np.pad(array, widths, constant_values=fill)

    return replace(
        outputs[0],
        tags=np.concatenate([pad(o.tags, n_steps) for o in outputs]),
        locations=np.concatenate(
            [pad(o.locations, n_steps + 1, n_candidates, fill=float(_LOWEST)) for o in outputs]
        ),
        n_steps=np.concatenate([o.n_steps for o in outputs]),
        n_candidates=np.concatenate([o.n_candidates for o in outputs]),
        attention=None
        if outputs[0].attention is None
        else np.concatenate(
            [pad(o.attention, n_steps, n_triples) for o in outputs if o.attention is not None]
        ),
        location_attention=None
        if outputs[0].location_attention is None
        else np.concatenate(
            [
                pad(o.location_attention, n_candidates, n_steps + 1, n_triples)
                for o in outputs
                if o.location_attention is not None
            ]
        ),
    )
