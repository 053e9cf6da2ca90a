"""Every value of a grid says where it stands in the text that the user gave."""

import json

import pytest

import koala
from koala.bulk.chunk import track_records
from koala.bulk.records import Limits, Record
from koala.document import Procedure, annotate
from koala.document.build import build_steps
from koala.grid import Grid, Row
from koala.inference.grounding import ground_rows
from koala.inference.predict import name_candidates
from koala.registry import Trackers

CAVE = (
    "# Drip stones\n\n1. Rain  water seeps into the soil.\n"
    "2. The water drips from the ceiling of the cave – slowly.\n"
    "3. Calcite grows on the ceiling of the cave.\n"
)
COFFEE = [
    "Put the coffee grounds into the\n filter-holder.",
    " ",
    "  Pour hot water over the coffee grounds.",
    "The coffee drips into the drying rack.",
]


@pytest.fixture(scope="module")
def tracker():
    return koala.load()


def ground(text, rows):
    """Ground rows of a text by hand, without a network."""
    names = [row.name for row in rows]
    procedure = Procedure("text", build_steps(text), Procedure.from_text("x", names).entities)
    (annotated,) = annotate([procedure])
    found = ground_rows(rows, annotated.entities, annotated, name_candidates(annotated))
    joined = text if isinstance(text, str) else "\n".join(text)
    return joined, found


def read(text, span):
    return None if span is None else span.read(text)


def test_steps_of_a_text_are_its_own_characters(tracker):
    grid = tracker.track(CAVE, ["water", "calcite"])
    assert tuple(span.read(CAVE) for span in grid.step_spans) == grid.steps


def test_mentions_are_in_their_steps(tracker):
    grid = tracker.track(CAVE, ["water; rain water", "calcite", "unicorn"])
    assert [(m.step, m.span.read(CAVE)) for m in grid["water"].mentions] == [
        (1, "Rain  water"),
        (2, "water"),
    ]
    assert [(m.step, m.span.read(CAVE)) for m in grid["calcite"].mentions] == [(3, "Calcite")]
    assert grid["unicorn"].mentions == ()
    for row in grid.rows:
        for mention in row.mentions:
            step = grid.step_spans[mention.step - 1]
            assert step.start <= mention.span.start < mention.span.end <= step.end


def test_a_location_is_grounded_in_its_step_else_before_else_after():
    text = "The tube is in the rack.\nTake it out.\nSpin it in the rotor.\nThe rotor stops."
    rows = [
        # The rotor of step 2 is named only later, that of step 4 in its own step.
        Row.from_locations("tube", ["rack", "rack", "rotor", "rack", "rotor"]),
    ]
    text, (row,) = ground(text, rows)
    spans = row.location_spans
    assert [read(text, span) for span in spans] == ["rack", "rack", "rotor", "rack", "rotor"]
    assert spans[0] == spans[1] == spans[3]
    assert text[: spans[2].start].endswith("Spin it in the ")
    assert text[: spans[4].start].endswith("\nThe ")


def test_what_does_not_change_is_grounded_where_it_began():
    text = "Put the egg into the pan.\nOil the pan.\nClean the pan."
    text, (row,) = ground(text, [Row.from_locations("egg", ["?", "pan", "pan", "pan"])])
    first = text.index("pan")
    assert {span.start for span in row.location_spans[1:]} == {first}
    assert row.initial_span is None


def test_what_the_text_does_not_name_has_no_span():
    text = "Whisk the egg.\nBake it."
    text, (row,) = ground(text, [Row.from_locations("egg", ["?", "bowl", "-"])])
    assert row.location_spans == (None, None, None)


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("Pour water over the coffee grounds.", "coffee grounds"),
        ("Water drips from the ceiling of the cave.", "ceiling of the cave"),
        ("Put the gel into a round-bottom flask.", "round-bottom flask"),
        ("Dry the gel in the drying cabinet.", "drying cabinet"),
        ("Take the cans to the recycling bins.", "recycling bins"),
        ("Earth's crust holds the magma.", "Earth's crust"),
    ],
)
def test_locations_are_written_as_in_the_text(text, location):
    (annotated,) = annotate([Procedure.from_text(text, ["it"])])
    assert location in name_candidates(annotated)
    _, (row,) = ground(text, [Row.from_locations("it", ["?", location])])
    assert row.steps[0].location_span.read(text) == location


def test_offsets_of_a_list_count_in_the_list_joined_by_line_breaks():
    rows = [Row.from_locations("coffee grounds", ["?", "filter-holder", "filter-holder", "-"])]
    text, (row,) = ground(COFFEE, rows)
    assert read(text, row.steps[0].location_span) == "filter-holder"
    assert [read(text, m.span) for m in row.mentions] == ["coffee grounds"] * 2
    assert text[row.mentions[1].span.start - 5 : row.mentions[1].span.start] == " the "


def test_the_white_space_that_steps_lose_does_not_shift_offsets(tracker):
    grid = tracker.track(COFFEE, ["coffee grounds"])
    text = "\n".join(COFFEE)
    assert grid.steps[0] == "Put the coffee grounds into the filter-holder."
    assert [" ".join(span.read(text).split()) for span in grid.step_spans] == list(grid.steps)
    (first, *_) = grid["coffee grounds"].mentions
    assert read(text, first.span) == "coffee grounds"


def test_a_fixed_location_is_grounded_if_the_text_has_it(tracker):
    text = "The water boils in the pot.\nThen it is poured out slowly."
    grid = tracker.track(text, ["water"], fixed={("water", 1): "pot", ("water", 2): "kitchen sink"})
    assert read(text, grid["water"].steps[0].location_span) == "pot"
    assert grid["water"].steps[1].location_span is None


def test_long_texts_are_grounded_over_all_windows(tracker):
    lines = [f"Step {n} moves the heavy sample from tray {n} to the cold tray {n + 1}."
             for n in range(1, 60)]  # fmt: skip
    text = "\n".join(lines)
    grid = tracker.track(text, ["sample"])
    assert [m.step for m in grid["sample"].mentions] == list(range(1, 60))
    assert {m.span.read(text) for m in grid["sample"].mentions} == {"sample"}
    for cell in grid["sample"].steps:
        if cell.after not in "-?":
            assert cell.location_span.read(text).lower() == cell.after.lower()


def test_json_has_the_spans_and_gives_them_back(tracker):
    grid = tracker.track(CAVE, ["water"])
    value = json.loads(grid.to_json())
    assert list(value) == ["id", "steps", "step_spans", "entities", "signature"]
    (water,) = value["entities"]
    assert {"name", "initial", "initial_span", "mentions", "steps"} == set(water)
    assert set(water["mentions"][0]) == {"step", "start", "end"}
    for step in water["steps"]:
        span = step["location_span"]
        if step["after"] in "-?":
            assert span is None
        else:
            assert CAVE[span["start"] : span["end"]].lower() == step["after"].lower()
    assert Grid.from_json(grid.to_json()) == grid


def test_a_grid_without_a_text_has_no_spans():
    grid = Grid("1", ("Rain falls.",), (Row.from_locations("rain", ["cloud", "soil"]),))
    assert not grid.is_grounded
    assert "span" not in grid.to_json()
    assert "mentions" not in grid.to_json()


@pytest.mark.parametrize(
    "record",
    [
        {"text": CAVE, "entities": ["water"]},
        {"text": "Rain water  falls. The water is in the cave.", "entities": ["water"]},
        {"steps": ["Rain\n water falls.", "", " The water is in the cave."], "entities": ["water"]},
    ],
)
def test_batches_have_the_offsets_of_single_texts(tracker, record):
    raw = json.dumps(record).encode()
    lines = track_records(
        Trackers.single(tracker), [Record("in.jsonl", 1, raw, len(raw), 1)], Limits()
    )
    value = json.loads(lines.grids)
    content = record.get("text") or record["steps"]
    alone = tracker.track(content, ["water"]).to_dict()
    assert value["step_spans"] == alone["step_spans"]
    assert value["entities"][0]["mentions"] == alone["entities"][0]["mentions"]
    text = content if isinstance(content, str) else "\n".join(content)
    assert {
        text[m["start"] : m["end"]] for m in value["entities"][0]["mentions"]
    } == {"water"}  # fmt: skip
