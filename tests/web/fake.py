"""A fake tracker that answers at once, or when a test opens its gate."""

from threading import Event, Semaphore
from types import SimpleNamespace

from koala.document import build_entity
from koala.document.build import place_steps
from koala.errors import FileError, KoalaError
from koala.grid import Grid, Row, TextSpan
from koala.grid.explanation import Evidence, Explanation, Reason
from koala.grid.states import Action
from koala.tracker import Tracker

SECRET = "/srv/secret/store"


class FakeTracker:
    """Creates every entity at step 1; the last word of each step is its location."""

    def __init__(self, found=("water", "leaf"), name="fake"):
        self.signature = f"{name}|1"
        self.card = SimpleNamespace(name=name, signature=self.signature)
        self.found = tuple(found)
        self.calls = []
        self.questions = []
        self.fixes = []
        self.gate = Event()
        self.gate.set()
        self.begun = Semaphore(0)

    def track(self, text, entities=None, *, find=False, id="text", question="", fixed=None):
        return self.explain(text, entities, find=find, id=id, question=question, fixed=fixed).grid

    find_warnings = Tracker.find_warnings

    def find_unmentioned(self, _text, entities):
        return [name for name in entities if name == "unicorn"]

    def explain(self, text, entities=None, *, find=False, id="text", question="", fixed=None):
        self.fixes.append(fixed)
        self.calls.append((text, entities, find, id))
        self.questions.append(question)
        self.begun.release()
        assert self.gate.wait(30)
        lines = text.splitlines() if isinstance(text, str) else text
        steps = tuple(line.strip() for line in lines)
        if "mistake" in steps:
            raise RuntimeError(SECRET)
        if "file" in steps:
            raise FileError(SECRET, "no such file.")
        # The real tracker refuses the same input.
        named = [build_entity(name).name for name in entities or ()]
        if not any(step.strip() for step in steps):
            raise KoalaError("The text is empty.")
        names = [*named, *self.found] if find or entities is None else named
        if not names:
            raise KoalaError("No entities to track; name one or more.")
        names += [name for name, _ in fixed or {} if name not in names]
        rows = tuple(build_row(name, steps, fixed or {}) for name in names)
        reasons = tuple(
            tuple(build_reason(row, steps, i) for i in range(len(steps))) for row in rows
        )
        placed = place_steps(steps)
        spans = tuple(TextSpan(*step.locate(0, len(step.text))) for step in placed)
        return Explanation(Grid(id, steps, rows, self.card.signature, spans), reasons)


def build_row(name, steps, fixed):
    locations = ["-", *(step.removesuffix(".").rpartition(" ")[2] or "?" for step in steps)]
    own = {step: said for (entity, step), said in fixed.items() if entity == name}
    for step, said in sorted(own.items()):
        apply_fix(locations, step, said)
    row = Row.from_locations(name, locations, [0.75] * len(steps))
    return row.with_fixed(own.keys())


def apply_fix(locations, step, said):
    action, location = (said, None) if isinstance(said, Action) else (None, said)
    if isinstance(said, tuple):
        action, location = said
    if location == "contradiction":
        raise KoalaError("water: The fixed cells contradict each other: no trajectory has them.")
    if action == Action.CREATE:
        locations[:step] = ["-"] * step
    if action == Action.DESTROY:
        locations[step:] = ["-"] * (len(locations) - step)
    if action == Action.NONE:
        locations[step] = locations[step - 1]
    if location is not None:
        locations[step] = location


def build_reason(row, steps, index):
    start = steps[index].find(row.aliases[0])
    mentions = ((start, start + len(row.aliases[0])),) if start >= 0 else ()
    others = (action for action in Action if action != row.steps[index].action)
    shares = dict(zip(others, (0.15, 0.07, 0.03), strict=True))
    return Reason(
        actions={row.steps[index].action: 0.75, **shares},
        exists=0.97,
        locations={row.steps[index].after: 0.8, "?": 0.2},
        mentions=mentions,
        evidence=(
            Evidence(row.name, "AtLocation", "sea", f"{row.name} can be found in sea", 0.7),
            Evidence(row.name, "IsA", "thing", f"{row.name} is a thing", 0.3),
        ),
    )
