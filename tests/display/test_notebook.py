"""Grids and explanations in notebooks, through IPython's own formatter."""

import re
from dataclasses import replace

import pytest

from koala.grid import Grid, Mention, Row, TextSpan
from koala.grid.explanation import Explanation

from .anything import HOSTILE, RAIN, TRIPLES, explain

formatters = pytest.importorskip("IPython.core.formatters")


def show(value):
    data, _ = formatters.DisplayFormatter().format(value)
    return data["text/html"]


def test_a_grid_is_shown_as_a_table():
    html = show(RAIN)
    assert html.count("<tr>") == 4
    assert "koala|test" in html
    assert "<html" not in html


def test_an_explanation_has_its_reasons():
    shown = explain(RAIN, TRIPLES)
    assert isinstance(shown, Explanation)
    assert "water can be found in sea" in show(shown)
    assert show(shown) != show(shown.grid)


def test_styles_touch_only_the_grid():
    css = re.search(r"<style>(.*?)</style>", show(RAIN), re.DOTALL)[1]
    selectors = [
        part.strip() for rule in css.split("}")[:-1] for part in rule.split("{")[0].split(",")
    ]
    assert selectors
    assert all(selector.startswith((".koala-grid", "#koala-")) for selector in selectors)


def test_two_grids_share_no_ids():
    other = Grid("38", RAIN.steps, RAIN.rows)
    ids = [set(re.findall(r'id="([^"]+)"', show(grid))) for grid in (RAIN, other)]
    assert not ids[0] & ids[1]


def test_hostile_text_is_shown_as_text():
    grid = Grid(HOSTILE, (HOSTILE,), (Row.from_locations(HOSTILE, ["?", HOSTILE]),))
    assert "<script" not in show(grid)
    assert "<img" not in show(grid)


def test_words_of_a_grounded_grid_can_be_marked():
    html = show(ground())
    assert re.search(r'<span class="words [^"]*-e1 [^"]*">Water</span>', html)
    assert re.search(r'<a href="#(koala-\w+-l1)">soil</a>', html)
    assert re.search(r'<span id="koala-\w+-l1"></span><span class="words [^"]*">soil</span>', html)


def ground():
    row = Row.from_locations("water", ["?", "soil"])
    cell = replace(row.steps[0], location_span=TextSpan(17, 21))
    row = replace(row, steps=(cell,), mentions=(Mention(1, TextSpan(0, 5)),))
    return Grid("1", ("Water enters the soil.",), (row,), None, (TextSpan(0, 22),))
