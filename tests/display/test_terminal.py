import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.table import Table

from koala.display import build_table, render
from koala.display.marks import clean
from koala.display.terminal import build_layout
from koala.errors import KoalaError
from koala.grid import Cell, Grid, Row
from koala.grid.states import Action

from .anything import RAIN, TRIPLES, explain, explanations, grids


def long_grid(n_steps: int, n_rows: int = 4) -> Grid:
    rows = []
    for number in range(n_rows):
        locations = ["-", *(f"lake {(step * 7 + number) % 23}" for step in range(n_steps))]
        rows.append(Row.from_locations(f"entity {number}", locations))
    return Grid("long", tuple(f"Sentence number {i}." for i in range(1, n_steps + 1)), tuple(rows))


def tables_of(text: str) -> list[list[str]]:
    """Give the lines of every table."""
    blocks = [block.split("\n") for block in text.split("\n\n")]
    return [block for block in blocks if block[0].startswith("entity")]


def squeeze(text: str) -> str:
    """Give the text without white space, so that a wrapped name is found."""
    return re.sub(r"\s", "", text)


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def strip_lines(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n"))


def test_a_complete_table():
    assert render(RAIN) == (
        "Procedure 37\n"
        "\n"
        "entity         before  1      2        3\n"
        "───────────────────────────────────────────────\n"
        "water          sea     → air  → cloud  → ground\n"
        "cloud; clouds  -       -      + sky    ×\n"
        "heat           ?       · ?    · ?      · ?\n"
        "\n"
        "+ created  → moved  × destroyed  · unchanged  - does not exist\n"
        "? location unknown\n"
        "\n"
        "1  Water rises.\n"
        "2  A cloud forms.\n"
        "3  It rains.\n"
        "\n"
        "koala|test\n"
    )


def test_build_table_has_a_column_for_the_start_and_each_step():
    table = build_table(RAIN)
    assert isinstance(table, Table)
    assert [column.header for column in table.columns] == ["entity", "before", "1", "2", "3"]
    assert table.row_count == 3


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("n_steps", [1, 10, 30])
def test_every_step_is_shown_once_and_fits(n_steps, width):
    text = render(long_grid(n_steps), width=width)
    tables = tables_of(text)
    numbers = [n for table in tables for n in re.sub(r"after \d+", "", table[0]).split()[1:]]
    numbers = [int(n) for n in numbers if n != "before"]
    assert numbers == list(range(1, n_steps + 1))
    assert max(cell_len(line) for line in text.split("\n")) <= width


def test_a_block_starts_where_the_last_one_ended():
    grid = long_grid(30)
    first, second = tables_of(render(grid, width=80))[:2]
    last = int(re.findall(r"\d+", first[0])[-1])
    assert f"after {last}" in second[0]
    for row, line in zip(grid.rows, second[2:], strict=True):
        assert line.startswith(f"{row.name}  {row.steps[last - 1].after}  ")


def test_columns_are_narrower_if_that_saves_a_block():
    row = Row.from_locations("heat", ["nuclear power plant"] * 11)
    grid = Grid("825", ("Step.",) * 10, (row,))
    assert len(build_layout(grid, width=80).split(80)) < 10 / ((80 - 4 - 18) // 18)
    # With one step there is space: columns have their full width.
    assert build_layout(Grid("1", ("Step.",), (Row("heat", row.steps[:1]),)), width=80).steps == (
        16,
    )


def test_a_long_location_wraps_next_to_its_symbol():
    location = "vent and hot water through baseboard"
    lines = render(Grid("1", ("Step.",), (Row.from_locations("heat", ["-", location]),))).split(
        "\n"
    )
    start = next(i for i, line in enumerate(lines) if line.startswith("heat"))
    column = lines[start].index("+")
    assert {line[:column].strip() for line in lines[start + 1 : start + 3]} == {""}
    assert all(line[column : column + 2] == "  " for line in lines[start + 1 : start + 3])
    assert squeeze(location) in squeeze(
        "".join(line[column + 2 :] for line in lines[start : start + 3])
    )


def test_a_very_long_location_is_shortened():
    grid = Grid("1", ("Step.",), (Row.from_locations("ink", ["-", "far " * 200]),))
    text = render(grid)
    assert "…" in text
    assert len(text.split("\n")) < 20


def test_markup_and_emoji_codes_are_shown_verbatim():
    grid = Grid(
        "[red]1[/red]",
        ("It is [link=http://x]here[/link] :smile: [/]",),
        (Row.from_locations("[bold]ink", ["[/]", "[blink]"]),),
        "[dim]signature",
    )
    for text in (render(grid), plain(render(grid, color=True))):
        for part in (*grid.steps, "[red]1[/red]", "[bold]ink", "[/]", "→ [blink]", grid.signature):
            assert part in text


ESCAPES = ["\x1b[31m", "\x9b31m", "\x1b]0;title\x07", "\x08", "\r", "\x00", "\u202e", "\ud800"]


@pytest.mark.parametrize("hostile", ESCAPES)
def test_control_characters_do_not_reach_the_terminal(hostile):
    word = f"a{hostile}b"
    grid = Grid(word, (word,), (Row.from_locations(word, [word, "c" + word]),), word)
    text = render(grid)
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in text.replace("\n", ""))
    assert "\u202e" not in text
    text.encode()
    # Without the colours the text is the same: none of the escapes came from the grid.
    assert strip_lines(plain(render(grid, color=True))) == text


def test_colour_only_on_request(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")
    without = render(RAIN)
    assert "\x1b" not in without
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    with_color = render(RAIN, color=True)
    assert strip_lines(plain(with_color)) == without
    styles = {re.search(rf"\x1b\[([\d;]*)m{re.escape(mark)}", with_color)[1] for mark in "+→×-"}
    assert len(styles) == 4


def test_duplicate_names_and_aliases():
    rows = (
        Row.from_locations("water", ["sea", "air"]),
        Row.from_locations("water", ["lake", "river"]),
    )
    lines = [line for line in render(Grid("1", ("S.",), rows)).split("\n") if "water" in line]
    assert [line.split() for line in lines] == [
        ["water", "sea", "→", "air"],
        ["water", "lake", "→", "river"],
    ]


def test_contradictions_are_shown():
    moves = Cell(Action.MOVE, "pen", "paper"), Cell(Action.MOVE, "desk", "bin")
    row = Row("ink", (*moves, Cell(Action.DESTROY, "bin", "fire")))
    text = render(Grid("1", ("One.", "Two.", "Three."), (row,)), width=100)
    assert "ink     pen     → paper  → bin !from desk  × fire !from bin\n" in text
    assert "! ink: step 2 starts at 'desk', but step 1 ended at 'paper'" in text
    assert "!" not in render(RAIN)


def test_no_entities_and_no_steps():
    text = render(Grid("1", ("Only a sentence.",), ()))
    assert "No entities." in text
    assert "1  Only a sentence." in text
    assert render(Grid("1", (), ())) == "Procedure 1\n\nNo entities.\n"
    assert "ink" in render(Grid("1", (), (Row("ink", ()),)))


def test_wide_characters_stay_aligned():
    rows = (
        Row.from_locations("水", ["東京", "大阪", "-"]),
        Row.from_locations("naïve café", ["-", "-", "x"]),
    )
    lines = render(Grid("1", ("一", "二"), rows)).split("\n")
    header, first, second = (line for line in lines if line[:1] in "e水n" and line)
    start = header.index("before")
    assert cell_len(first[: first.index("東京")]) == start
    assert second.index("-") == start
    assert cell_len(first[: first.index("×")]) == second.index("+")


# Reasons


def reasons_of(explanation) -> list[str]:
    text = render(explanation, width=80).removeprefix(render(RAIN).removesuffix("\nkoala|test\n"))
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def test_every_change_is_explained_after_the_table():
    assert reasons_of(explain(RAIN, TRIPLES)) == [
        "Step 1, water: moved from sea to air, 93% sure; or stays where it is, 20%. “Water rises.” "
        "Most attended: water can be found in sea, 62%; rain is water, 25%; water is wet, 8%.",
        "Step 2, water: moved from air to cloud, 50% sure; or stays where it is, 20%. "
        "“A cloud forms.” "
        "Most attended: water can be found in sea, 62%; rain is water, 25%; water is wet, 8%.",
        "Step 2, cloud; clouds: created at sky; or moved, 60%. “A cloud forms.” "
        "Most attended: water can be found in sea, 62%; rain is water, 25%; water is wet, 8%.",
        "Step 3, water: moved from cloud to ground, 100% sure; or to air, 30%. “It rains.” "
        "Most attended: water can be found in sea, 62%; rain is water, 25%; water is wet, 8%.",
        "Step 3, cloud; clouds: destroyed at sky; or moved, 60%. “It rains.” "
        "Most attended: water can be found in sea, 62%; rain is water, 25%; water is wet, 8%.",
        "koala|test",
    ]


def test_reasons_without_triples_and_without_changes():
    *_, last_change, note, _ = reasons_of(explain(RAIN))
    assert last_change.endswith("“It rains.”")
    assert note == "No triples were read."
    still = Grid("1", ("It rests.",), (Row.from_locations("stone", ["sand", "sand"]),))
    assert "Nothing changes." in render(explain(still))


@given(explanations(), st.integers(24, 120))
def test_any_reasons_render_safely_within_the_width(explanation, width):
    text = render(explanation, width=width)
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in text.replace("\n", ""))
    assert max(cell_len(line) for line in text.split("\n")) <= width
    changes = [cell for row in explanation.grid.rows for cell in row.steps if cell.action != "NONE"]
    assert text.count("\nStep ") >= len(changes)


def test_an_unknown_format_names_the_known_ones():
    with pytest.raises(KoalaError, match="'pdf' is unknown; expected one of table, json"):
        render(RAIN, "pdf")


def test_clean_keeps_harmless_text():
    assert clean("naïve 東京 👩‍🔬 שלום") == "naïve 東京 👩‍🔬 שלום"
    assert clean(" a\n\tb\u2028c ") == "a b c"


@given(grids(), st.integers(1, 120))
def test_any_grid_renders_safely_within_the_width(grid, width):
    text = render(grid, width=width)
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in text.replace("\n", ""))
    assert max(cell_len(line) for line in text.split("\n")) <= max(width, 24)
    assert text == render(grid, width=width)
    for sentence in grid.steps:
        assert squeeze(clean(sentence)) in squeeze(text)
