"""A spaCy component: `nlp.add_pipe("koala")` gives every document a grid.

`doc._.grid` is the grid; `doc.spans["koala"]` holds the mentions of its entities, each with the
entity's name as label.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from spacy.language import Language
from spacy.tokens import Doc, Span

from koala.document import Procedure, annotate
from koala.document.build import build_entities
from koala.errors import KoalaError
from koala.grid import Grid

if TYPE_CHECKING:
    pass

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
    """Find the mentions of a grid's entities in a document."""
    if not grid.rows:
        return
    plain = Procedure.from_text(doc.text)
    procedure = Procedure(grid.id, plain.steps, build_entities(grid.names))
    (annotated,) = annotate([procedure])
    for entity in annotated.entities:
        for mention in entity.mentions:
            step = annotated.steps[mention.step]
            start = step.start + step.words[mention.start].start
            end = step.start + step.words[mention.end - 1].end
            span = doc.char_span(start, end, label=entity.name, alignment_mode="expand")
            if span is not None:
                yield span
