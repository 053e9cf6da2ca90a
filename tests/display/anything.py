"""Hypothesis strategies for grids and reasons with arbitrary text, and a small plain grid."""

from hypothesis import strategies as st

from koala.grid import Cell, Grid, Row
from koala.grid.explanation import Evidence, Explanation, Reason
from koala.grid.states import Action

RAIN = Grid(
    "37",
    ("Water rises.", "A cloud forms.", "It rains."),
    (
        Row.from_locations("water", ["sea", "air", "cloud", "ground"], [0.934, 0.5, 1]),
        Row.from_locations("cloud ; clouds", ["-", "-", "sky", "-"]),
        Row.from_locations("heat", ["?", "?", "?", "?"]),
    ),
    "koala|test",
)

HOSTILE = """<script>alert("1")</script><img src=x onerror='a()'>&amp;</style></title>--> {x} %s"""

CELLS = st.builds(
    Cell,
    st.sampled_from(Action),
    st.sampled_from("-?") | st.text(max_size=20),
    st.sampled_from("-?") | st.text(max_size=20),
    st.none() | st.floats(),
)
SHARES = st.floats(0, 1)
REASONS = st.builds(
    Reason,
    actions=st.fixed_dictionaries(dict.fromkeys(Action, SHARES)),
    exists=SHARES,
    locations=st.dictionaries(st.text(max_size=12), SHARES, max_size=5),
    mentions=st.lists(st.tuples(*[st.integers(0, 60)] * 2).map(sorted).map(tuple), max_size=3),
    evidence=st.lists(
        st.builds(Evidence, *[st.text(max_size=12)] * 4, SHARES), max_size=5
    ).map(tuple),
)  # fmt: skip


@st.composite
def grids(draw, *, most_steps=12, most_rows=4):
    n_steps = draw(st.integers(0, most_steps))
    row = st.builds(Row, st.text(max_size=30), st.tuples(*[CELLS] * n_steps))
    rows = st.lists(row, max_size=most_rows).map(tuple)
    steps = st.tuples(*[st.text(max_size=60)] * n_steps)
    return draw(st.builds(Grid, st.text(max_size=9), steps, rows))


@st.composite
def explanations(draw):
    # Few cells, because each has a reason with many parts.
    grid = draw(grids(most_steps=4, most_rows=3))
    shape = st.tuples(*[st.tuples(*[REASONS] * len(grid.steps))] * len(grid.rows))
    return Explanation(grid, draw(shape))


def explain(grid: Grid, evidence: tuple[Evidence, ...] = ()) -> Explanation:
    """Give every cell of a grid the same reason."""
    actions = {Action.NONE: 0.2, Action.CREATE: 0.1, Action.MOVE: 0.6, Action.DESTROY: 0.1}
    locations = {"air": 0.5, "sea": 0.3, "ground": 0.2}
    reason = Reason(actions, 0.9, locations, ((0, 5),), evidence)
    return Explanation(grid, tuple((reason,) * len(grid.steps) for _ in grid.rows))


TRIPLES = (
    Evidence("water", "AtLocation", "sea", "water can be found in sea", 0.625),
    Evidence("rain", "IsA", "water", "rain is water", 0.25),
    Evidence("water", "HasProperty", "wet", "water is wet", 0.08),
    Evidence("water", "UsedFor", "tea", "water is used for tea", 0.045),
)
