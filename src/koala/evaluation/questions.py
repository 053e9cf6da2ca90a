"""Answers of a grid to the four document-level questions of ProPara.

Docstrings name the oddities of the official script that are reproduced to get equal scores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from koala.evaluation.locations import PUBLISHED
from koala.grid import Grid
from koala.grid.states import ABSENT, Action

_ABSENT = PUBLISHED[ABSENT]


@dataclass(frozen=True, slots=True)
class Conversion:
    """Entities are destroyed and others created."""

    destroyed: tuple[str, ...]
    created: tuple[str, ...]
    locations: tuple[str, ...]
    step: int


@dataclass(frozen=True, slots=True)
class Move:
    """An entity changes its location."""

    entity: str
    before: str
    after: str
    step: int


@dataclass(frozen=True, slots=True)
class Summary:
    """The answers of a grid to the four questions."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    conversions: tuple[Conversion, ...]
    moves: tuple[Move, ...]


def summarize(grid: Grid) -> Summary:
    """Answer the four questions from a grid.

    Of two entities with the same name the last counts. Inputs and outputs are read from actions,
    conversions and moves from locations; these may disagree if a predicted row contradicts itself.
    """
    actions = {row.name: row.actions for row in grid.rows}
    locations = {
        row.name: tuple(PUBLISHED.get(location, location) for location in row.locations)
        for row in grid.rows
    }
    return Summary(
        inputs=tuple(name for name, row in actions.items() if _is_input(row)),
        outputs=tuple(name for name, row in actions.items() if _is_output(row)),
        conversions=tuple(_find_conversions(locations, len(grid.steps))),
        moves=tuple(_find_moves(locations, actions)),
    )


def _is_input(actions: Sequence[Action]) -> bool:
    """Tell whether it is destroyed, not created before, and not created or moved after."""
    return any(
        action == Action.DESTROY
        and Action.CREATE not in actions[:step]
        and not {Action.CREATE, Action.MOVE} & set(actions[step + 1 :])
        for step, action in enumerate(actions)
    )


def _is_output(actions: Sequence[Action]) -> bool:
    """Tell whether it is created, not destroyed or moved before, and not destroyed after."""
    return any(
        action == Action.CREATE
        and not {Action.DESTROY, Action.MOVE} & set(actions[:step])
        and Action.DESTROY not in actions[step + 1 :]
        for step, action in enumerate(actions)
    )


def _find_moves(
    locations: Mapping[str, Sequence[str]], actions: Mapping[str, Sequence[Action]]
) -> list[Move]:
    moves = []
    for name, row in locations.items():
        for step, action in enumerate(actions[name], 1):
            before, after = row[step - 1], row[step]
            has_changed = before != after and _ABSENT not in (before, after)
            if action == Action.MOVE or has_changed:
                moves.append(Move(name, before, after, step))
    return moves


def _find_conversions(locations: Mapping[str, Sequence[str]], n_steps: int) -> list[Conversion]:
    """Find steps that destroy and create, alone or together with the next step.

    Two steps make a conversion only if the first comes before the last but one, and if one of them
    only destroys and the other only creates. An entity that both steps change is left out of the
    second, but its location is not.
    """
    created = [_find_created(locations, step) for step in range(1, n_steps + 1)]
    destroyed = [_find_destroyed(locations, step) for step in range(1, n_steps + 1)]
    conversions = []
    for step in range(1, n_steps + 1):
        begin, end = created[step - 1], destroyed[step - 1]
        if begin and end:
            conversions.append(_build_conversion(end, begin, (end, begin), step))
        elif step < n_steps - 1:
            next_begin, next_end = created[step], destroyed[step]
            new = {name: location for name, location in next_begin.items() if name not in end}
            gone = {name: location for name, location in next_end.items() if name not in begin}
            if end and new and not next_end:
                conversions.append(_build_conversion(end, new, (end, next_begin), step))
            elif begin and gone and not next_begin:
                conversions.append(_build_conversion(gone, begin, (next_end, begin), step))
    return conversions


def _build_conversion(
    destroyed: Mapping[str, str],
    created: Mapping[str, str],
    located: tuple[Mapping[str, str], Mapping[str, str]],
    step: int,
) -> Conversion:
    distinct = sorted({location for each in located for location in each.values()})
    return Conversion(tuple(destroyed), tuple(created), tuple(distinct), step)


def _find_created(locations: Mapping[str, Sequence[str]], step: int) -> dict[str, str]:
    return {
        name: row[step]
        for name, row in locations.items()
        if row[step - 1] == _ABSENT and row[step] != _ABSENT
    }


def _find_destroyed(locations: Mapping[str, Sequence[str]], step: int) -> dict[str, str]:
    return {
        name: row[step - 1]
        for name, row in locations.items()
        if row[step - 1] != _ABSENT and row[step] == _ABSENT
    }
