"""Graphs are parsed again, by the rules of their languages, and compared with the grid."""

import html
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from xml.etree import ElementTree

import pytest
from hypothesis import given

from koala.bundled.examples import read_example
from koala.display import render
from koala.display.graph import build_graph, render_dot, render_mermaid
from koala.display.marks import clean, shorten
from koala.grid import Cell, Grid, Row
from koala.grid.states import Action

from .. import strategies
from .anything import HOSTILE, RAIN, grids

ODD = (
    "", "end", "a\"b'c", "[x]", "(x)", "{x}", "a|b", "a;b", "`x`", "1. mix", "- sand", "# top",
    "&amp; &lt;", "#35; #quot;", "%% no comment", "**bold** _it_", "$$x$$", "a\\nb", "\\", "\\\"",
    "-->", "ﬂ°°35¶ß", "日本 naïve 👩‍🔬", "two\nlines", "<br/>", "http://x.y", "@{ shape: x }",
    HOSTILE,
)  # fmt: skip


@dataclass
class Read:
    """The content of a file: labels of nodes and groups, edges as triples of labels."""

    nodes: dict[str, str] = field(default_factory=dict)
    shapes: dict[str, str] = field(default_factory=dict)
    groups: list[str] = field(default_factory=list)
    edges: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def changes(self) -> Counter[tuple[str, str, str]]:
        return Counter((self.nodes[a], label, self.nodes[b]) for a, label, b in self.edges)


def read_mermaid(text: str) -> Read:
    """Read the subset of Mermaid that koala writes; anything else fails."""
    label = r'"((?:[^\W_]|[ ,]|#\d+;|<br/>)+)"'
    head, *lines = text.removesuffix("\n").split("\n")
    assert head == "flowchart TB"
    read, is_open = Read(), False
    for line in map(str.strip, lines):
        if match := re.fullmatch(rf"subgraph (\w+)\[{label}\]", line):
            assert not is_open
            is_open = True
            read.groups.append(read_mermaid_label(match[2]))
        elif match := re.fullmatch(rf"(\w+)(\[|\(\[|\{{\{{){label}(\]|\]\)|\}}\}})", line):
            assert is_open
            assert match[1] not in read.nodes
            assert {"[": "]", "([": "])", "{{": "}}"}[match[2]] == match[4]
            read.nodes[match[1]] = read_mermaid_label(match[3])
            read.shapes[match[1]] = match[2]
        elif match := re.fullmatch(rf"(\w+) -->\|{label}\| (\w+)", line):
            read.edges.append((match[1], read_mermaid_label(match[2]), match[3]))
        else:
            assert is_open
            assert line in ("direction TB", "end")
            is_open = line != "end"
    assert not is_open
    return read


def read_mermaid_label(label: str) -> str:
    # A zero-width space follows signs with a meaning; a single space stands for an empty text.
    lines = re.sub("(#(?:36|92|182|64258);)#8203;", r"\1", label).split("<br/>")
    texts = [re.sub(r"#(\d+);", lambda m: chr(int(m[1])), line) for line in lines]
    return "\n".join("" if text == " " else text for text in texts)


SVG = "{http://www.w3.org/2000/svg}"
STRING = r'"((?:[^"\\]|\\.)*)"'


def read_dot(text: str) -> Read:
    """Read the subset of Graphviz that koala writes; anything else fails."""
    head, *lines, last = text.removesuffix("\n").split("\n")
    assert (head, last) == ("digraph {", "}")
    read, is_open = Read(), False
    attributes = rf"\[((?:\w+=(?:\w+|{STRING})(?:, )?)+)\];"
    for line in map(str.strip, lines):
        if re.fullmatch(rf"(node|edge) {attributes}", line):
            assert not is_open
        elif re.fullmatch(r"subgraph cluster_\w+ \{", line):
            assert not is_open
            is_open = True
        elif match := re.fullmatch(
            rf'label={STRING}; fontname="Helvetica,Arial,sans-serif";', line
        ):
            read.groups.append(read_dot_label(match[1]))
        elif match := re.fullmatch(rf"(\w+) {attributes}", line):
            assert is_open
            assert match[1] not in read.nodes
            values = read_attributes(match[2])
            read.nodes[match[1]] = read_dot_label(values["label"])
            read.shapes[match[1]] = values.get("shape", "box")
        elif match := re.fullmatch(rf"(\w+) -> (\w+) {attributes}", line):
            label = read_dot_label(read_attributes(match[3])["label"])
            read.edges.append((match[1], label, match[2]))
        else:
            assert line == "}"
            assert is_open
            is_open = False
    assert not is_open
    return read


def read_attributes(text: str) -> dict[str, str]:
    return {
        m[1]: m[3] if m[3] is not None else m[2]
        for m in re.finditer(rf"(\w+)=(\w+|{STRING})", text)
    }


def read_dot_label(label: str) -> str:
    text = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], label)
    return html.unescape(text)


def label_of(row: Row, location: str) -> str:
    words = {"?": "location unknown", "-": "does not exist"}
    return f"{shorten(row.aliases[0])}\n{words.get(location, shorten(location))}"


def changes_of(grid: Grid) -> Counter[tuple[str, str, str]]:
    """Give the edges that the graph must have, from the cells of the grid."""
    found: Counter[tuple[str, str, str]] = Counter()
    for row in grid.rows:
        for step, cell in enumerate(row.steps, 1):
            before, after = label_of(row, cell.before), label_of(row, cell.after)
            match cell.action:
                case Action.CREATE:
                    found[f"Step {step}", f"created, step {step}", after] += 1
                case Action.MOVE:
                    found[before, f"moved, step {step}", after] += 1
                case Action.DESTROY:
                    found[before, f"destroyed, step {step}", f"Step {step}"] += 1
    return found


READERS = pytest.mark.parametrize(
    ("write", "read"), [(render_mermaid, read_mermaid), (render_dot, read_dot)]
)


def test_a_complete_flowchart():
    assert render(RAIN, "mermaid") == (
        "flowchart TB\n"
        '    subgraph g1["Procedure 37"]\n'
        "        direction TB\n"
        '        g1_stay1["water<br/>sea"]\n'
        '        g1_stay2["water<br/>air"]\n'
        '        g1_stay3["water<br/>cloud"]\n'
        '        g1_stay4["water<br/>ground"]\n'
        '        g1_stay5["cloud<br/>sky"]\n'
        '        g1_stay6["heat<br/>location unknown"]\n'
        '        g1_step2(["Step 2"])\n'
        '        g1_step3(["Step 3"])\n'
        '        g1_stay1 -->|"moved, step 1"| g1_stay2\n'
        '        g1_stay2 -->|"moved, step 2"| g1_stay3\n'
        '        g1_stay3 -->|"moved, step 3"| g1_stay4\n'
        '        g1_step2 -->|"created, step 2"| g1_stay5\n'
        '        g1_stay5 -->|"destroyed, step 3"| g1_step3\n'
        "    end\n"
    )


@READERS
def test_a_conversion_is_a_join(write, read):
    found = read(write([read_example("coffee")]))
    (join,) = (node for node, label in found.nodes.items() if label.startswith("Step"))
    assert found.shapes[join] in ("{{", "hexagon")
    into = {found.nodes[a] for a, _, b in found.edges if b == join}
    out = {found.nodes[b] for a, _, b in found.edges if a == join}
    assert into == {"water\nfilter", "flavor\ncoffee ground"}
    assert out == {"coffee\nfilter"}


@READERS
@given(grid=strategies.grids())
def test_every_change_is_an_edge(write, read, grid):
    found = read(write([grid]))
    assert found.changes == changes_of(grid)
    # No two edges lead to the same stay.
    targets = Counter(target for _, _, target in found.edges if "Step" not in found.nodes[target])
    assert max(targets.values(), default=1) == 1


@READERS
@given(grid=grids())
def test_any_text_survives(write, read, grid):
    text = write([grid, grid])
    text.encode()
    found = read(text)
    expected = changes_of(grid)
    assert found.changes == expected + expected
    assert len(found.groups) == 2


@READERS
@pytest.mark.parametrize("odd", ODD)
def test_odd_names(write, read, odd):
    row = Row(odd, (Cell(Action.CREATE, "-", odd), Cell(Action.MOVE, odd, f"to {odd}")))
    grid = Grid(odd, (odd, odd), (row,))
    found = read(write([grid]))
    name, location = shorten(row.aliases[0]), shorten(odd)
    assert [label for label in found.nodes.values() if label != "Step 1"] == [
        f"{name}\n{location}",
        f"{name}\n{shorten(f'to {odd}')}",
    ]
    assert found.groups == [clean(odd)]


@READERS
def test_empty_grids(write, read):
    for shown in ([], [Grid("1", (), ())], [Grid("1", ("Only a step.",), ())]):
        found = read(write(shown))
        assert (found.nodes, found.edges) == ({}, [])
    absent = Grid("1", ("One.",), (Row.from_locations("ink", ["-", "-"]),))
    assert read(write([absent])).nodes == {}


@READERS
def test_a_hundred_steps(write, read):
    locations = ["-", *(f"location {step % 7}" for step in range(99)), "-"]
    rows = tuple(Row.from_locations(f"entity {number}", locations) for number in range(20))
    grid = Grid("long", tuple(f"Sentence {step}." for step in range(100)), rows)
    found = read(write([grid]))
    assert found.changes == changes_of(grid)
    assert len(found.edges) == 20 * 100


def test_a_row_that_contradicts_itself_begins_a_new_stay():
    moves = Cell(Action.MOVE, "pen", "paper"), Cell(Action.MOVE, "desk", "bin")
    graph = build_graph(Grid("1", ("One.", "Two."), (Row("ink", moves),)))
    assert [stay.location for stay in graph.stays] == ["pen", "paper", "desk", "bin"]
    locations = {stay.id: stay.location for stay in graph.stays}
    assert [(locations[e.source], locations[e.target]) for e in graph.edges] == [
        ("pen", "paper"),
        ("desk", "bin"),
    ]


def test_graphviz_reads_the_output():
    if not shutil.which("dot"):
        pytest.skip("needs Graphviz")
    rows = tuple(Row(odd, (Cell(Action.CREATE, "-", odd),)) for odd in ODD)
    text = render_dot([Grid(HOSTILE, (HOSTILE,), rows), RAIN])
    done = subprocess.run(["dot", "-Tsvg"], input=text.encode(), capture_output=True, check=True)
    assert done.stderr == b""
    groups = list(ElementTree.fromstring(done.stdout).iter(f"{SVG}g"))
    nodes = [group for group in groups if group.get("class") == "node"]
    seen = {
        node.findtext(f"{SVG}title"): [line.text for line in node.iter(f"{SVG}text")]
        for node in nodes
    }
    # Graphviz widens runs of spaces, and draws no empty line.
    assert {id: squeeze("".join(lines)) for id, lines in seen.items()} == {
        id: squeeze(label) for id, label in read_dot(text).nodes.items()
    }


def squeeze(text: str) -> str:
    return "".join(text.split())
