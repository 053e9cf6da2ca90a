"""Grids with a reason for every cell: probabilities, mentions, and attention to triples."""

from collections.abc import Callable, Sequence

from koala.decoding import Decoding, Names
from koala.decoding.marginals import Marginals
from koala.grid.explanation import Evidence, Explanation, Reason
from koala.grid.states import Action, Tag, actions_from_tags
from koala.inference.calibration import Calibration
from koala.inference.predict import decode_grid, prepare_output
from koala.inference.scoring import Scored, Scorer, score_procedures
from koala.inputs.examples import Item
from koala.network.output import Output
from koala.tasks import PROPARA, Task

_N_LOCATIONS = 5
"""Number of locations in a reason."""

Progress = Callable[[int, int], None]


def predict_explanations(
    scorer: Scorer,
    items: Sequence[Item],
    *,
    calibration: Calibration,
    task: Task = PROPARA,
    decoding: Decoding = "viterbi",
    progress: Progress = lambda _done, _total: None,
) -> list[Explanation]:
    """Predict grids with a reason for every cell."""
    found: dict[int, Explanation] = {}
    n_done = 0
    for number, scored in score_procedures(scorer, items):
        grid = decode_grid(scored, task=task, decoding=decoding, calibration=calibration)
        found[number] = Explanation(grid, find_reasons(scored, task, calibration))
        n_done += len(scored.items)
        progress(n_done, len(items))
    return [found[number] for number in sorted(found)]


def find_reasons(
    scored: Scored, task: Task, calibration: Calibration
) -> tuple[tuple[Reason, ...], ...]:
    """Give a reason for every cell of a procedure: for each entity, for each step."""
    output, names, fixes = prepare_output(scored, calibration)
    return tuple(
        _explain_entity(item, output, n, task.find_marginals(output, n, names, fixes), names)
        for n, item in enumerate(scored.items)
    )


def _explain_entity(
    item: Item, output: Output, index: int, marginals: Marginals, names: Names
) -> tuple[Reason, ...]:
    mentions = _find_offsets(item)
    locations = marginals.name_locations(names)
    reasons = []
    for step, tags in enumerate(marginals.name_tags()):
        actions = dict.fromkeys(Action, 0.0)
        for tag, action in zip(Tag, actions_from_tags(tuple(Tag)), strict=True):
            actions[action] += tags[tag.value]
        best = sorted(locations[step + 1].items(), key=lambda pair: -pair[1])
        reasons.append(
            Reason(
                actions=actions,
                exists=sum(tags[tag.value] for tag in (Tag.C, Tag.E, Tag.M)),
                locations=dict(best[:_N_LOCATIONS]),
                mentions=mentions[step],
                evidence=_find_evidence(item, output, index, step),
            )
        )
    return tuple(reasons)


def _find_offsets(item: Item) -> list[tuple[tuple[int, int], ...]]:
    """Give the character offsets of the entity's mentions in the text of each step."""
    procedure = item.procedure
    found: list[list[tuple[int, int]]] = [[] for _ in procedure.steps]
    for span in procedure.entities[item.entity].mentions:
        words = procedure.steps[span.step].words
        found[span.step].append((words[span.start].start, words[span.end - 1].end))
    return [tuple(each) for each in found]


def _find_evidence(item: Item, output: Output, index: int, step: int) -> tuple[Evidence, ...]:
    if output.attention is None or not item.triples:
        return ()
    weights = output.attention[index, step, : len(item.triples)].tolist()
    pairs = sorted(zip(item.triples, weights, strict=True), key=lambda pair: -pair[1])
    return tuple(
        Evidence(triple.head, triple.relation, triple.tail, triple.sentence, weight)
        for triple, weight in pairs
    )
