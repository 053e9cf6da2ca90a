"""The attention of a network to triples, of the state tracker and of the location predictor."""

from collections.abc import Sequence

from koala.decoding import Decoding, Names
from koala.errors import KoalaError
from koala.grid import Row
from koala.grid.attention import Attention, Weights
from koala.inference.calibration import Calibration
from koala.inference.predict import decode_grid, name_candidates
from koala.inference.scoring import Scored, Scorer, score_all
from koala.inputs.examples import Item
from koala.network.output import Floats
from koala.tasks import PROPARA, Task


def find_attention(
    scorer: Scorer,
    items: Sequence[Item],
    *,
    calibration: Calibration,
    task: Task = PROPARA,
    decoding: Decoding = "viterbi",
    location: str | None = None,
) -> list[Attention]:
    """Give the attention for every entity.

    The location predictor attends to triples for each location candidate. Shown is its attention
    for the predicted location of each position, or for one `location` throughout.
    """
    return [
        _read_attention(scored, number, row, location)
        for scored in score_all(scorer, items)
        for number, row in enumerate(
            decode_grid(scored, task=task, decoding=decoding, calibration=calibration).rows
        )
    ]


def _read_attention(scored: Scored, number: int, row: Row, location: str | None) -> Attention:
    item, output = scored.items[number], scored.output
    if output.attention is None:
        raise KoalaError("The network reads no triples, so it has no attention to show.")
    if output.location_attention is None:
        raise KoalaError(
            "An exported network does not give the attention of its location predictor. Give the "
            "folder of the training run."
        )
    n_steps, n_triples = len(item.procedure.steps), len(item.triples)
    names = name_candidates(item.procedure)
    if location is not None and location not in names:
        raise KoalaError(
            f"{location!r} is no location candidate of this text. Candidates: {', '.join(names)}."
        )
    asked = row.locations if location is None else (location,) * (n_steps + 1)
    return Attention(
        row=row,
        triples=tuple(triple.sentence for triple in item.triples),
        states=_to_tuples(output.attention[number, :n_steps, :n_triples].tolist()),
        asked=tuple(asked),
        locations=_read_locations(
            output.location_attention[number, :, :, :n_triples], asked, names
        ),
    )


def _read_locations(attention: Floats, asked: Sequence[str], names: Names) -> Weights:
    """Give the weights of each position; `attention` is (candidates, steps + 1, triples)."""
    return _to_tuples(
        [
            attention[names.index(name), position].tolist() if name in names else []
            for position, name in enumerate(asked)
        ]
    )


def _to_tuples(rows: Sequence[Sequence[float]]) -> Weights:
    return tuple(map(tuple, rows))
