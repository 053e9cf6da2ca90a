"""Several trackers: by name, or the one that fits a text."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from koala.runtime.files import read_card
from koala.runtime.models import AUTO, DEFAULT, RECIPES, choose_model, find_model
from koala.tracker import Tracker, restrict_knowledge, sign_store


class Trackers:
    """Trackers by name, each opened when it is first needed, by the one thread that uses them."""

    def __init__(self, signatures: Mapping[str, str], open: Callable[[str], Tracker]) -> None:
        self.signatures = dict(signatures)
        """What stands in the grids of each; the first is for texts that no other one fits.

        Of one that is not open yet: what its card says."""
        self._open = open
        self._opened: dict[str, Tracker] = {}

    @classmethod
    def alone(cls, tracker: Tracker) -> "Trackers":
        """One tracker, whatever the text."""
        name = tracker.card.name.removeprefix("koala-")
        return cls({name: tracker.signature}, lambda _name: tracker)

    @classmethod
    def bundled(cls, open: Callable[[str], Tracker]) -> "Trackers":
        """The bundled ones that are chosen where none is named."""
        names = (DEFAULT, RECIPES)
        return cls({name: read_card(find_model(name)).signature for name in names}, open)

    @property
    def choices(self) -> tuple[str, ...]:
        """What may be asked for."""
        return (AUTO, *self.signatures)

    def choose(self, model: str, content: str | Sequence[str]) -> Tracker:
        """Give the tracker of a name; with `auto` the one that fits a text, or its steps."""
        if model == AUTO:
            model = self._fit(content if isinstance(content, str) else "\n".join(content))
        if model not in self._opened:
            self._opened[model] = self._open(model)
            self.signatures[model] = self._opened[model].signature
        return self._opened[model]

    def _fit(self, text: str) -> str:
        first, *others = self.signatures
        fitting = choose_model(text) if others else first
        return fitting if fitting in self.signatures else first


def sign(model: str | Path) -> str:
    """Give the signature of a model; that of `auto` says which it chooses among."""
    if model == AUTO:
        return " | ".join(sign(name) for name in (DEFAULT, RECIPES))
    return read_card(find_model(model)).signature


def sign_knowledge(model: str | Path, *, has_knowledge: bool = True) -> str:
    """Say where the triples that a model reads come from, as `sign` does of the model."""
    if model == AUTO:
        signatures = (sign_knowledge(n, has_knowledge=has_knowledge) for n in (DEFAULT, RECIPES))
        return " | ".join(signatures)
    settings = read_card(find_model(model)).read_settings().knowledge
    return sign_store(restrict_knowledge(settings, has_knowledge=has_knowledge))
