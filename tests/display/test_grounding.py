"""Pointing at a cell marks its words in the text; what the text does not name has a star."""

import re
from dataclasses import replace

from koala.display import render, render_page
from koala.display.grounding import build_groups
from koala.grid import Grid, Mention, Row, TextSpan

TEXT = "1. Water drips from the cave's <roof>.\n2. It is heated."
STEPS = (TEXT[3:38], TEXT[42:])


SPANS = (TextSpan(3, 38), TextSpan(42, 55))


def build(spans=SPANS):
    """Give a grid whose words overlap: the cave is part of the roof's phrase."""
    cave, roof = TextSpan(24, 28), TextSpan(24, 37)
    row = Row.from_locations("water", ["cave's <roof>", "cave", "oven"])
    cells = [replace(c, location_span=s) for c, s in zip(row.steps, (cave, None), strict=True)]
    water = replace(
        row, steps=tuple(cells), initial_span=roof, mentions=(Mention(1, TextSpan(3, 8)),)
    )
    return Grid("1", STEPS, (water, Row.from_locations("unicorn", ["?", "?", "?"])), None, spans)


def test_the_words_of_a_step_stay_the_same():
    groups = build_groups(build(), "g")
    for index, step in enumerate(STEPS):
        plain = re.sub(r"<[^>]*>", "", groups.render_step(index))
        assert plain == step.replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#x27;")


def test_overlapping_phrases_share_words():
    groups = build_groups(build(), "g")
    assert groups.phrases == {TextSpan(24, 28): "g-l1", TextSpan(24, 37): "g-l2"}
    html = groups.render_step(0)
    assert (
        '<span id="g-l1"></span><span id="g-l2"></span><span class="words g-l1 g-l2">cave' in html
    )
    assert '<span class="words g-l2">&#x27;s &lt;roof&gt;</span>.' in html
    assert html.startswith('<span class="words g-e1 g-e1-1">Water</span> drips')


def test_cells_have_the_classes_of_their_words():
    groups = build_groups(build(), "g")
    assert groups.of_cell(0, -1) == ["g-l2"]
    assert groups.of_cell(0, 0) == ["g-l1", "g-e1-1"]
    assert groups.of_cell(0, 1) == []
    assert (groups.of_entity(0), groups.of_entity(1)) == ("g-e1", "")
    css = groups.render_css()
    for name in ("g-e1", "g-e1-1", "g-l1", "g-l2"):
        assert f"#g:has(:is(td, th).{name}:is(:hover, :focus-within)) .words.{name}" in css


def test_every_link_of_a_cell_has_a_target():
    page = render_page([build(), build()])
    targets = re.findall(r'<a href="#(grid-\d-l\d)"', page)
    assert len(targets) == 4
    assert all(page.count(f'id="{target}"') == 1 for target in targets)
    assert "<script" not in page


def test_what_the_text_does_not_name_has_a_star():
    grid = build()
    table = render(grid)
    assert "→ oven*" in table
    assert "unicorn*" in table
    assert "cave*" not in table
    assert "* not named in the text" in table
    page = render_page([grid])
    assert 'oven<span aria-hidden="true">*</span>' in page
    assert "(not named in the text)" in page
    bare = Grid("1", STEPS, tuple(Row(r.name, r.steps) for r in grid.rows))
    assert "*" not in render(bare)
    assert "not named in the text" not in render_page([bare])


def test_a_step_with_other_white_space_has_no_marks():
    groups = build_groups(build((TextSpan(3, 41), TextSpan(42, 55))), "g")
    assert "words" not in groups.render_step(0)
