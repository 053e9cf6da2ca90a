"""A spaCy component: `nlp.add_pipe("koala")` gives every document a grid.

`doc._.grid` is the grid; `doc.spans["koala"]` holds the mentions of its entities, each with the
entity's name as label.
"""

from collections.abc import Iterator

from spacy.language import Language
from spacy.tokens import Doc, Span

from koala.errors import KoalaError
from koala.grid import Grid

SPANS = "koala"


@Language.factory("koala", default_config={"model": "auto", "decoding": "viterbi"})
def create_component(
    nlp: Language,  # noqa: ARG001
    name: str,
    model: str,
    decoding: str,
) -> "KoalaComponent":
    """Create the component; spaCy calls this with its pipeline."""
    return KoalaComponent(name, model, decoding)


class KoalaComponent:
    """Tracks the entities of a document that describes a procedure."""

    def __init__(self, name: str, model: str, decoding: str) -> None:
        from koala.registry import AUTO, Trackers, load

        self.name = name
        self._model, self._decoding = model, decoding
        self._trackers: Trackers = (
            Trackers.bundled(load) if model == AUTO else Trackers.single(load(model))
        )
        if not Doc.has_extension("grid"):
            Doc.set_extension("grid", default=None)

    def __call__(self, doc: Doc) -> Doc:
        """Add the grid and the mentions; a text in which no entity is found has an empty grid."""
        from koala.registry import AUTO

        tracker = self._trackers.choose(AUTO, doc.text).with_decoding(self._decoding)
        try:
            grid = tracker.track(doc.text, id=str(doc.user_data.get("id", "text")))
        except KoalaError:
            grid = Grid("text", (doc.text,), ())
        doc._.grid = grid
        doc.spans[SPANS] = list(find_spans(doc, grid))
        return doc


def find_spans(doc: Doc, grid: Grid) -> Iterator[Span]:
    """Give the mentions of a grid's entities as spans of the document."""
    for row in grid.rows:
        for mention in row.mentions:
            start, end = mention.span.start, mention.span.end
            span = doc.char_span(start, end, label=row.name, alignment_mode="expand")
            if span is not None:
                yield span
