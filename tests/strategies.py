"""Hypothesis strategies for random legal grids."""

from hypothesis import strategies as st

from koala.grid import Grid, Row
from koala.grid.states import ABSENT, UNKNOWN, Tag

LOCATIONS = ("soil", "leaf", "the deep sea", "naïve café", UNKNOWN)


@st.composite
def location_rows(draw, n_steps: int):
    cell = st.sampled_from((ABSENT, *LOCATIONS))
    return tuple(draw(st.lists(cell, min_size=n_steps + 1, max_size=n_steps + 1)))


@st.composite
def grids(draw):
    n_steps = draw(st.integers(1, 8))
    names = draw(st.lists(st.sampled_from(("water", "plant; tree", "CO₂", "rock")), max_size=4))
    rows = tuple(Row.from_locations(name, draw(location_rows(n_steps))) for name in names)
    return Grid(str(draw(st.integers(0, 9999))), tuple(f"Step {i}." for i in range(n_steps)), rows)


def walks(transitions, first):
    """Random walks over a tag alphabet, at least one tag long."""

    @st.composite
    def walk(draw) -> tuple[Tag, ...]:
        tags = [draw(st.sampled_from(sorted(first)))]
        for _ in range(draw(st.integers(0, 9))):
            tags.append(draw(st.sampled_from(sorted(transitions[tags[-1]]))))
        return tuple(tags)

    return walk()
