import itertools
import json
import re

import pytest

from koala.bundled.examples import list_examples, read_example
from koala.display.views import convert_view, render_combination
from koala.errors import KoalaError
from koala.grid import Grid, Row
from koala.grid.views import VIEWS, Combination, view_combinations

from .anything import HOSTILE


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", list_examples())
def test_every_view_of_every_example_names_all_entities(view, name):
    grid = read_example(name)
    for format in ("table", "html"):
        text = convert_view([grid], view, format)
        if view != "steps":
            assert all(row.aliases[0] in text for row in grid.rows)
    (value,) = map(json.loads, convert_view([grid], view, "json").splitlines())
    assert value["view"] == view


def test_the_text_of_a_user_is_no_markup():
    grid = Grid("x", (HOSTILE,), (Row.from_locations(HOSTILE, [HOSTILE, "-"]),))
    for view in VIEWS:
        assert "<script" not in convert_view([grid], view, "html").lower()


def test_steps_span_the_rows_of_what_they_combine():
    batter = Combination("mix", 1, (Combination("flour"), Combination("milk")))
    cake = Combination("bake", 2, (batter, Combination("butter")))
    rows = re.findall(r"<tr>(.*?)</tr>", render_combination(cake))
    assert [re.findall(r'rowspan="(\d)"', row) for row in rows] == [["2", "3"], [], []]
    assert [re.search(r"<th[^>]*>(\w+)", row)[1] for row in rows] == ["flour", "milk", "butter"]


def lay_out(html):
    """Give the cell that covers each place of a table, laid out as browsers do."""
    covered = {}
    for row, line in enumerate(re.findall(r"<tr>(.*?)</tr>", html)):
        for cell in re.findall(r"<t[hd].*?</t[hd]>", line):
            wide, tall = (
                int(found[1]) if (found := re.search(rf'{name}span="(\d+)"', cell)) else 1
                for name in ("col", "row")
            )
            column = next(c for c in range(99) if (row, c) not in covered)
            for place in itertools.product(range(row, row + tall), range(column, column + wide)):
                assert place not in covered, "cells overlap"
                covered[place] = cell
    return covered


LATE = Combination("mix", 2, (Combination("eggs"), Combination("milk")))
DEEP = Combination("bake", 3, (Combination("flour"), LATE, Combination("salt")))


@pytest.mark.parametrize(
    "tree",
    [
        DEEP,
        *(tree for name in ("pancakes", "soup") for tree in view_combinations(read_example(name))),
    ],
)
def test_nested_tables_are_rectangles(tree):
    html = render_combination(tree)
    covered = lay_out(html)
    rows, columns = (1 + max(place[axis] for place in covered) for axis in (0, 1))
    assert rows == len(tree.ingredients)
    assert len(covered) == rows * columns


def test_unknown_views_and_formats_are_refused():
    grid = read_example()
    with pytest.raises(KoalaError, match="Known: locations"):
        convert_view([grid], "upwards")
    with pytest.raises(KoalaError, match="table, json, html; 'dot' came"):
        convert_view([grid], "steps", "dot")
