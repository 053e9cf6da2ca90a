from dataclasses import replace

import pytest

from koala.bundled.examples import read_example
from koala.errors import KoalaError
from koala.grid import Grid, Row, TextSpan
from koala.grid.views import (
    Combination,
    Stay,
    find_at,
    find_views,
    view_combinations,
    view_locations,
    view_recipe,
    view_steps,
    view_timeline,
)

LAB = Grid(
    "lab",
    ("Add buffer to the tube.", "Put the blood in the buffer.", "Spin the tube; DNA forms."),
    (
        Row.from_locations("buffer", ["bottle", "tube", "tube", "tube"]),
        Row.from_locations("blood; sample", ["?", "?", "buffer", "-"]),
        Row.from_locations("DNA", ["-", "-", "-", "tube"]),
        Row.from_locations("tube", ["rack", "rack", "rack", "centrifuge"]),
    ),
)


def test_what_is_in_the_tube_counts_what_is_inside_its_contents():
    assert find_at(LAB, "tube", 0) == ()
    assert find_at(LAB, "tube", 1) == ("buffer",)
    assert find_at(LAB, "Tube", 2) == ("buffer", "blood; sample")
    assert find_at(LAB, "tube", 3) == ("buffer", "DNA")
    assert find_at(LAB, "centrifuge", 3) == ("buffer", "DNA", "tube")


@pytest.mark.parametrize(
    ("location", "step", "problem"),
    [("moon", 1, "not in the grid. Locations: bottle"), ("tube", 4, "steps 1 to 3")],
)
def test_questions_that_cannot_be_answered_are_refused(location, step, problem):
    with pytest.raises(KoalaError, match=problem):
        find_at(LAB, location, step)


def test_a_grid_is_asked_directly():
    assert LAB.at("tube", step=2) == find_at(LAB, "tube", 2)


def test_views_of_a_grounded_grid_say_where_its_words_stand():
    text = "Add buffer to the tube."
    row = Row.from_locations("buffer", ["?", "tube"])
    cell = replace(row.steps[0], location_span=TextSpan(18, 22))
    grid = Grid("1", (text,), (replace(row, steps=(cell,)),), None, (TextSpan(0, 23),))
    span = {"start": 18, "end": 22}
    (locations,) = find_views([grid], "locations")
    assert locations["location_spans"] == [{"?": None}, {"tube": span}]
    (steps,) = find_views([grid], "steps")
    assert steps["steps"][0]["span"] == {"start": 0, "end": 23}
    assert steps["steps"][0]["moves"][0]["to_span"] == span
    (timeline,) = find_views([grid], "timeline")
    assert [stay["span"] for stay in timeline["timeline"]["buffer"]] == [None, span]
    assert "span" not in str(find_views([LAB], "steps"))
    assert "location_spans" not in find_views([LAB], "locations")[0]


def test_locations_hold_every_entity_that_exists():
    before, *after = view_locations(LAB)
    assert before == {"bottle": ("buffer",), "?": ("blood; sample",), "rack": ("tube",)}
    assert after[2] == {"tube": ("buffer", "DNA"), "centrifuge": ("tube",)}


def test_steps_are_told_in_sentences():
    views = view_steps(LAB)
    assert [view.sentence for view in views] == [
        "Buffer moves from bottle to tube.",
        "Blood moves to buffer.",
        "Blood is used up in buffer; DNA appears in tube; tube moves from rack to centrifuge.",
    ]
    assert (views[2].inputs, views[2].outputs) == (("blood; sample",), ("DNA",))
    assert views[0].to_dict()["moves"] == [{"entity": "buffer", "from": "bottle", "to": "tube"}]


def test_a_timeline_is_the_row_without_repetitions():
    assert view_timeline(LAB["buffer"]) == [Stay("bottle", 0, 0), Stay("tube", 1, 3)]
    for row in LAB.rows:
        stays = view_timeline(row)
        again = [stay.location for stay in stays for _ in range(stay.first, stay.last + 1)]
        assert tuple(again) == row.locations


def test_pancakes_are_combined_as_a_cook_would_say():
    grid = read_example("pancakes")
    (dish,) = [tree for tree in view_combinations(grid) if "flour" in tree.ingredients]
    bowl = dish
    while bowl.step != 1:
        bowl = bowl.parts[0]
    assert set(bowl.ingredients) == {"flour", "sugar", "salt"}
    assert all(part == Combination(part.name) for part in bowl.parts)
    names = [name for tree in view_combinations(grid) for name in tree.ingredients]
    assert sorted(names) == sorted(grid.names)
    first, second, *_ = view_recipe(grid)
    assert first["uses"] == ["flour", "sugar", "salt"]
    assert set(second["combined_with"]) == {"flour", "sugar", "salt"}


def test_views_are_plain_values_under_their_name():
    (found,) = find_views([LAB], "timeline")
    assert found["timeline"]["DNA"][1] == {"location": "tube", "first": 3, "last": 3}
    for name in ("combinations", "recipe"):
        assert {"steps", "combinations"} == set(find_views([LAB], name)[0][name])
    with pytest.raises(KoalaError, match="Known: locations, steps, timeline, combinations"):
        find_views([LAB], "sideways")
