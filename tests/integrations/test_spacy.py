import spacy

from koala.grid import Grid
from koala.integrations.spacy import SPANS

TEXT = "Roots absorb water from the soil.\nThe water flows to the leaf.\nThe leaf makes sugar."


def test_a_pipeline_gives_documents_a_grid_and_spans():
    nlp = spacy.blank("en")
    nlp.add_pipe("koala", config={"model": "small"})
    doc = nlp(TEXT)
    assert isinstance(doc._.grid, Grid)
    assert len(doc._.grid.steps) == 3
    spans = doc.spans[SPANS]
    assert {span.label_ for span in spans} <= set(doc._.grid.names)
    assert any("water" in span.text.lower() for span in spans)


def test_a_text_without_entities_has_an_empty_grid():
    nlp = spacy.blank("en")
    nlp.add_pipe("koala")
    doc = nlp("Hello.")
    assert doc._.grid.rows == ()
    assert list(doc.spans[SPANS]) == []
