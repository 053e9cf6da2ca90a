from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from koala.display.heatmap import render_attention_page, render_attention_svg
from koala.grid import Row
from koala.grid.attention import Attention

ROW = Row.from_locations("cloud; clouds", ["-", "air", "air"])
SVG = "{http://www.w3.org/2000/svg}"


def build(weights, triples=("cloud is at location <air>", "cloud is a type of vapor")):
    return Attention(ROW, triples, (weights, weights), ROW.locations, ((), weights, weights))


def test_every_weight_is_a_cell_with_its_number():
    panels = {"with loss": [build((0.75, 0.25))], "without": [build((0.5, 0.5))]}
    root = ET.fromstring(render_attention_svg(panels))
    cells = root.findall(f".//{SVG}rect")
    assert len(cells) == 2 * (2 + 2) * 2
    opacities = [float(cell.get("fill-opacity")) for cell in cells]
    assert opacities.count(0.75) == opacities.count(0.25) == 4
    texts = ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]
    assert any(text.startswith("0.75") for text in texts)
    assert any("with loss" in text for text in texts)
    assert any(text.startswith("create") for text in texts)


@given(st.text(max_size=30), st.text(max_size=80))
def test_any_text_gives_well_formed_pictures_and_pages_without_scripts(name, triple):
    row = Row.from_locations(name, ["-", triple, "?"])
    weights = ((1.0,), (1.0,))
    attention = Attention(row, (triple,), weights, ("-", triple, "?"), ((), *weights))
    panels = {name: [attention]}
    ET.fromstring(render_attention_svg(panels))
    page = render_attention_page(panels, title=triple, steps=[name, triple])
    assert not any(tag in page.lower() for tag in ("<script", "<img", "<link", "<iframe"))
    assert page.count("<svg ") == 1
    assert "default-src 'none'" in page
