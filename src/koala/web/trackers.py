"""The trackers of a server: by name, or the one that fits a text."""

from collections.abc import Callable, Mapping, Sequence

from koala.runtime.models import AUTO, choose_model
from koala.tracker import Tracker


class Trackers:
    """Trackers by name, each opened when it is first needed, by the one thread that uses them."""

    def __init__(self, signatures: Mapping[str, str], open: Callable[[str], Tracker]) -> None:
        self.signatures = dict(signatures)
        """What stands in the grids of each; the first is for texts that no other one fits."""
        self._open = open
        self._opened: dict[str, Tracker] = {}

    @classmethod
    def alone(cls, tracker: Tracker) -> "Trackers":
        """Serve one tracker, whatever the text."""
        card = tracker.card
        return cls({card.name.removeprefix("koala-"): card.signature}, lambda _name: tracker)

    @property
    def choices(self) -> tuple[str, ...]:
        """What a request may ask for."""
        return (AUTO, *self.signatures)

    def choose(self, model: str, content: str | Sequence[str]) -> Tracker:
        """Give the tracker of a name; with `auto` the one that fits a text, or its steps."""
        if model == AUTO:
            model = self._fit(content if isinstance(content, str) else "\n".join(content))
        if model not in self._opened:
            self._opened[model] = self._open(model)
        return self._opened[model]

    def _fit(self, text: str) -> str:
        fitting = choose_model(text)
        return fitting if fitting in self.signatures else next(iter(self.signatures))
