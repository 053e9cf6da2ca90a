import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from koala.display import Shown, render, render_page
from koala.display.marks import clean
from koala.grid import Cell, Grid, Row
from koala.grid.explanation import Evidence, Explanation
from koala.grid.states import Action

from .anything import HOSTILE, RAIN, TRIPLES, explain, explanations, grids

VOID = {"meta"}


@dataclass
class Node:
    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list["Node | str"] = field(default_factory=list)

    def find(self, tag: str, name: str = "") -> list["Node"]:
        found = []
        for child in self.children:
            if isinstance(child, Node):
                classes = (child.attributes.get("class") or "").split()
                found += [child] if child.tag == tag and (not name or name in classes) else []
                found += child.find(tag, name)
        return found

    def text(self, *, seen: bool = False) -> str:
        """Give the text; with `seen` without the parts for screen readers."""
        if seen and "hidden" in (self.attributes.get("class") or ""):
            return ""
        return "".join(c if isinstance(c, str) else c.text(seen=seen) for c in self.children)


class Tree(HTMLParser):
    """Builds the tree of a page; fails if elements are not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open = [Node("page")]
        self.feed(page)
        self.close()
        assert len(self.open) == 1

    def handle_starttag(self, tag, attrs):
        node = Node(tag, dict(attrs))
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag):
        assert self.open.pop().tag == tag

    def handle_data(self, data):
        self.open[-1].children.append(data)


def parse(*grids: Shown, **options: str) -> Node:
    return Tree(render_page(grids, **options)).open[0]


def cells_of(tree: Node) -> list[list[Node]]:
    return [row.find("td") for body in tree.find("tbody") for row in body.find("tr")]


def words(node: Node, *, seen: bool = False) -> str:
    return " ".join(node.text(seen=seen).split())


def test_rows_columns_and_cells():
    tree = parse(RAIN)
    (head,) = tree.find("thead")
    assert [words(th, seen=True) for th in head.find("th")] == ["Entity", "Before", "1", "2", "3"]
    assert [words(th) for th in tree.find("tbody")[0].find("th")] == [
        "water",
        "cloud; clouds",
        "heat",
    ]
    assert [[words(td, seen=True) for td in row] for row in cells_of(tree)] == [
        ["sea", "→air 93%", "→cloud 50%", "→ground 100%"],
        ["-", "-", "+sky", "×"],
        ["?", "·?", "·?", "·?"],
    ]
    assert [[td.attributes["class"] for td in row] for row in cells_of(tree)] == [
        ["start exists", "move", "move", "move"],
        ["start absent", "absent", "create", "destroy"],
        ["start exists", "exists", "exists", "exists"],
    ]


def test_sentences_are_listed_and_shown_on_hover():
    tree = parse(RAIN)
    (sentences,) = tree.find("ol")
    assert [li.text() for li in sentences.find("li")] == list(RAIN.steps)
    for step, sentence in enumerate(RAIN.steps):
        assert tree.find("thead")[0].find("th")[step + 2].attributes["title"] == sentence
        for row in cells_of(tree):
            assert row[step + 1].attributes["title"].split("\n")[1] == sentence
    assert cells_of(tree)[0][1].attributes["title"].split("\n")[0] == (
        "water, step 1: moved from sea to air (93% confident)"
    )


def test_the_page_works_with_screen_readers():
    tree = parse(RAIN)
    assert {th.attributes["scope"] for th in tree.find("thead")[0].find("th")} == {"col"}
    assert {th.attributes["scope"] for th in tree.find("tbody")[0].find("th")} == {"row"}
    heard = [[re.sub("[→+×·]", "", words(td)) for td in row] for row in cells_of(tree)]
    assert heard[0][1] == "moved to air 93%"
    assert heard[1][1:] == ["-does not exist", "created at sky", "destroyed"]
    (legend,) = tree.find("ul", "legend")
    assert legend.attributes["aria-label"] == "Legend"
    for word in ("created", "moved", "destroyed", "unchanged", "does not exist"):
        assert word in legend.text()
    assert "location unknown" in legend.text()
    assert tree.find("html")[0].attributes["lang"] == "en"
    assert tree.find("div", "scroll")[0].attributes["tabindex"] == "0"


def test_ids_are_unique_and_links_have_targets():
    tree = parse(RAIN, RAIN, Grid("37", ("Nothing.",), ()))
    nodes = [node for tag in ("section", "h2", "h3", "li") for node in tree.find(tag)]
    ids = [node.attributes["id"] for node in nodes if "id" in node.attributes]
    # Sections with their titles, two graphs, the sentences.
    assert len(ids) == len(set(ids)) == 3 + 3 + 2 + 3 + 3 + 1
    links = [a.attributes["href"] for a in tree.find("a")]
    assert {link.removeprefix("#") for link in links} <= set(ids)
    for name in ("section", "div"):
        for node in tree.find(name):
            assert node.attributes["aria-labelledby"] in ids


def test_several_grids_get_a_table_of_contents():
    tree = parse(RAIN, Grid("38", ("Nothing.",), (Row.from_locations("ink", ["-", "pen"]),)))
    (contents,) = tree.find("nav")
    assert [words(li) for li in contents.find("li")] == [
        "Procedure 37 3 entities, 3 steps",
        "Procedure 38 1 entity, 1 step",
    ]
    assert len(tree.find("table")) == 2
    assert parse(RAIN).find("nav") == []


def test_hostile_text_is_shown_as_text():
    row = Row.from_locations(f"name {HOSTILE}", [f"from {HOSTILE}", f"to {HOSTILE}"])
    grid = Grid(HOSTILE, (f"step {HOSTILE}",), (row,), HOSTILE)
    tree = parse(grid, grid, title=HOSTILE)
    assert tree.find("script") == tree.find("img") == []
    assert tree.find("title")[0].text() == tree.find("h1")[0].text() == HOSTILE
    assert tree.find("h2")[0].text() == HOSTILE
    # A semicolon separates aliases, so the spaces in a name may change.
    assert words(tree.find("tbody")[0].find("th")[0]).replace("; ", ";") == f"name {HOSTILE}"
    (start, cell), _ = cells_of(tree)
    assert start.text() == f"from {HOSTILE}"
    assert cell.find("span", "place")[0].text() == f"to {HOSTILE}"
    assert cell.attributes["title"].split("\n")[1] == f"step {HOSTILE}"
    assert set(cell.attributes) == {"class", "title"}


def test_the_page_makes_no_requests_and_runs_no_scripts():
    page = render_page([RAIN])
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    (meta,) = (m for m in Tree(page).open[0].find("meta") if "http-equiv" in m.attributes)
    assert meta.attributes["content"] == policy
    reasons = render_page([explain(RAIN, TRIPLES)])
    assert not re.search(r"https?://|url\(|@import|<script|<link|\son\w+=|src=", page + reasons)


@pytest.mark.parametrize("n_steps", [1, 30])
def test_numbers_of_rows_and_columns(n_steps):
    row = Row.from_locations("ink", ["-", *(f"location{i}" for i in range(n_steps))])
    grid = Grid("1", tuple(f"Sentence {i}." for i in range(n_steps)), (row, row))
    tree = parse(grid)
    assert [len(row) for row in cells_of(tree)] == [n_steps + 1] * 2
    assert len(tree.find("thead")[0].find("th")) == n_steps + 2
    assert len(tree.find("ol")[0].find("li")) == n_steps
    # Grids too wide for paper are printed with steps as rows, which needs their number.
    assert tree.find("table")[0].attributes["style"] == f"--rows: {n_steps + 2}"
    assert len(tree.find("div", "wide")) == (n_steps == 30)


def test_long_words_make_a_grid_too_wide_for_paper():
    for location, wide in (("sea", 0), ("deep blue sea", 0), ("underground-river", 1)):
        grid = Grid("1", ("Step.",) * 10, (Row.from_locations("water", [location] * 11),))
        assert len(parse(grid).find("div", "wide")) == wide


def test_empty_pages():
    assert "No procedures." in parse().text()
    tree = parse(Grid("1", ("Only a sentence.",), ()))
    assert tree.find("table") == []
    assert "No entities." in tree.text()
    assert "Only a sentence." in tree.text()
    assert [words(td) for td in cells_of(parse(Grid("1", (), (Row("ink", ()),))))[0]] == ["?"]


def test_contradictions_are_shown():
    moves = Cell(Action.MOVE, "pen", "paper"), Cell(Action.MOVE, "desk", "bin")
    row = Row("ink", (*moves, Cell(Action.DESTROY, "bin", "fire")))
    tree = parse(Grid("1", ("One.", "Two.", "Three."), (row,)))
    assert [words(td, seen=True) for td in cells_of(tree)[0]] == [
        "pen",
        "→paper",
        "→bin ! from desk",
        "×fire ! from bin",
    ]
    (problem,) = tree.find("p", "problem")
    assert problem.text() == "! ink: step 2 starts at 'desk', but step 1 ended at 'paper'"
    assert "contradicts" in tree.find("ul", "legend")[0].text()
    assert "contradicts" not in parse(RAIN).find("ul", "legend")[0].text()


@pytest.mark.parametrize("confidence", [None, float("nan"), float("inf"), -0.5, 17])
def test_a_confidence_that_is_no_probability_is_not_shown(confidence):
    row = Row("ink", (Cell(Action.MOVE, "pen", "paper", confidence),))
    tree = parse(Grid("1", ("One.",), (row,)))
    assert tree.find("span", "confidence") == []
    assert "confiden" not in tree.find("main")[0].text()


def test_render_gives_the_same_page_every_time():
    assert render(RAIN, "html") == render_page([RAIN]) == render_page((RAIN,))


# The graph


def test_the_graph_shows_every_stay_and_every_step_that_changes_something():
    (graph,) = parse(RAIN).find("svg")
    assert graph.attributes["role"] == "img"
    assert graph.attributes["aria-label"] == "Process graph; the table says the same"
    boxes = [[text.text() for text in stay.find("text")] for stay in graph.find("g", "stay")]
    assert boxes == [
        ["water", "sea"],
        ["water", "air"],
        ["water", "cloud"],
        ["water", "ground"],
        ["cloud", "sky"],
        ["heat", "location unknown"],
    ]
    assert [edge.find("title")[0].text() for edge in graph.find("g", "edge")] == [
        "moved, step 1",
        "moved, step 2",
        "moved, step 3",
        "created, step 2",
        "destroyed, step 3",
    ]
    numbers = [number.find("text")[0].text() for number in graph.find("g", "number")]
    assert numbers == ["Step 1", "Step 2", "Step 3"]


def test_a_page_without_stays_has_no_graph():
    absent = Grid("1", ("One.",), (Row.from_locations("ink", ["-", "-"]),))
    for grid in (absent, Grid("1", ("One.",), ())):
        assert parse(grid).find("svg") == []


# Reasons


def test_reasons_are_shown_and_mentions_marked():
    tree = parse(explain(RAIN, TRIPLES))
    (reasons,) = tree.find("ul", "reasons")
    items = [words(li) for li in reasons.find("li")]
    assert len(items) == 5
    assert items[0] == (
        "→ Step 1, water: moved from sea to air, 93% sure; or stays where it is, 20%. "
        "Water rises. Most attended: water can be found in sea, 62%; rain is water, 25%; "
        "water is wet, 8%."
    )
    assert next(mark.text() for mark in reasons.find("mark")) == "Water"
    assert parse(RAIN).find("ul", "reasons") == []


def test_attention_is_a_table_of_triples_by_steps_for_every_entity():
    tree = parse(explain(RAIN, TRIPLES))
    captions = [caption.text() for caption in tree.find("caption")]
    assert captions == [
        f"What was read for {name}, percent of the attention"
        for name in ("water", "cloud; clouds", "heat")
    ]
    table = tree.find("table", "heat")[0]
    assert [words(th, seen=True) for th in table.find("th")][:4] == ["Triple", "1", "2", "3"]
    rows = {
        row.find("th")[0].text(): [(td.text(), td.attributes["class"]) for td in row.find("td")]
        for row in table.find("tbody")[0].find("tr")
    }
    assert rows == {
        "water can be found in sea": [("62", "heat-4")] * 3,
        "rain is water": [("25", "heat-3")] * 3,
        "water is wet": [("8", "heat-1")] * 3,
        "water is used for tea": [("4", "heat-0")] * 3,
    }


def test_missing_triples_are_noted():
    tree = parse(explain(RAIN))
    assert tree.find("table", "heat") == []
    assert "No triples were read." in tree.text()
    still = Grid("1", ("It rests.",), (Row.from_locations("stone", ["sand", "sand"]),))
    assert "Nothing changes." in parse(explain(still)).text()


def test_hostile_reasons_are_shown_as_text():
    evidence = Evidence(HOSTILE, HOSTILE, HOSTILE, HOSTILE, 0.5)
    grid = Grid("1", (HOSTILE,), (Row.from_locations(HOSTILE, ["-", HOSTILE]),))
    tree = parse(explain(grid, (evidence,)))
    assert tree.find("script") == tree.find("img") == []
    assert tree.find("q")[0].text() == HOSTILE
    assert tree.find("table", "heat")[0].find("tbody")[0].find("th")[0].text() == HOSTILE


@given(st.lists(grids() | explanations(), max_size=3))
def test_any_reasons_are_shown_in_full(shown):
    tree = parse(*shown)
    explained = [each for each in shown if isinstance(each, Explanation)]
    changes = [
        cell
        for each in explained
        for row in each.grid.rows
        for cell in row.steps
        if cell.action != Action.NONE
    ]
    assert len([li for ul in tree.find("ul", "reasons") for li in ul.find("li")]) == len(changes)
    read = [
        row for each in explained for row in each.reasons if any(reason.evidence for reason in row)
    ]
    assert len(tree.find("table", "heat")) == len(read)
    ids = [node.attributes["id"] for node in every(tree) if "id" in node.attributes]
    assert len(ids) == len(set(ids))


def every(node: Node) -> list[Node]:
    nodes = [child for child in node.children if isinstance(child, Node)]
    return nodes + [one for child in nodes for one in every(child)]


# Colours


def css() -> str:
    return files("koala.display").joinpath("page.css").read_text(encoding="utf-8")


def themes() -> dict[str, dict[str, str]]:
    light, dark = re.findall(r":root \{(.*?)\}", css(), re.DOTALL)
    colors = [dict(re.findall(r"--([\w-]+): (#\w{6});", theme)) for theme in (light, dark)]
    assert colors[0].keys() == colors[1].keys()
    return dict(zip(("light", "dark"), colors, strict=True))


def luminance(color: str) -> float:
    """WCAG 2.1, relative luminance."""
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_known_colors():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read_in_both_themes(theme):
    colors = themes()[theme]
    rule = r"\.([\w-]+) \{ background: var\(--([\w-]+)\); color: var\(--([\w-]+)\); \}"
    pairs = {name: (fill, ink) for name, fill, ink in re.findall(rule, css())}
    assert {"create", "move", "destroy", "exists", "absent", "contradiction"} <= pairs.keys()
    for fill, ink in pairs.values():
        assert contrast(colors[fill], colors[ink]) >= 4.5, (fill, ink)
    for ink in ("ink", "quiet-ink", "link", "warning-ink", "absent-ink"):
        assert contrast(colors["page"], colors[ink]) >= 4.5, ink


def test_no_color_is_written_outside_the_themes_and_no_text_is_faded():
    rules = re.sub(r":root \{.*?\}", "", css(), flags=re.DOTALL)
    assert not re.search(r"#[0-9a-f]{3,8}\b|rgb|hsl|opacity", rules)
    used = set(re.findall(r"var\(--([\w-]+)\)", rules)) - {"rows"}
    assert used == set(themes()["light"])


@given(st.lists(grids(), max_size=3))
def test_any_grid_is_shown_in_full(some_grids):
    tree = parse(*some_grids)
    render_page(some_grids).encode()
    expected = [row for grid in some_grids for row in grid.rows]
    shown = cells_of(tree)
    assert len(shown) == len(expected)
    for row, (start, *cells) in zip(expected, shown, strict=True):
        assert clean(row.initial) in start.text()
        for cell, td in zip(row.steps, cells, strict=True):
            assert clean(cell.after) in td.text() or not cell.exists
    # White space at the ends of a list item is not shown.
    sentences = [words(li) for ol in tree.find("ol") for li in ol.find("li")]
    assert sentences == [clean(step) for grid in some_grids for step in grid.steps]
