"""Grid: for every entity and step the action, the location before and the location after.

Gold and predicted grids have the same type. A grid read from a prediction file may contradict
itself (step 2 starts where step 1 did not end): `Row.problem` says how, and the scorers treat it
as the official scorer does.
"""

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from koala.errors import KoalaError
from koala.files import parse_json
from koala.grid.rows import Row, get_field, read_row
from koala.grid.spans import TextSpan, read_spans

COLUMNS = ("paragraph", "step", "participant", "action", "before", "after")
"""The columns of the leaderboard's TSV files."""


@dataclass(frozen=True, slots=True)
class Grid:
    """All entities of one procedure through all its steps."""

    id: str
    steps: tuple[str, ...]
    """The texts of the steps."""
    rows: tuple[Row, ...]
    signature: str | None = None
    """The signature of the model that predicted the grid, if there is one."""
    step_spans: tuple[TextSpan, ...] | None = None
    """Where the steps stand in the text that the user gave; None if the grid is not grounded."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.steps) != len(self.steps):
                raise KoalaError(
                    f"Procedure {self.id}: entity {row.name!r} has {len(row.steps)} steps, "
                    f"the procedure has {len(self.steps)}."
                )
        if self.step_spans is not None and len(self.step_spans) != len(self.steps):
            raise KoalaError(
                f"Procedure {self.id}: step_spans has {len(self.step_spans)} spans, the procedure "
                f"has {len(self.steps)} steps."
            )

    def __getitem__(self, name: str) -> Row:
        """Give the first row with that name, or else with that alias; case does not matter."""
        wanted = name.strip().lower()
        for names_of in (lambda row: (row.name,), lambda row: row.aliases):
            for row in self.rows:
                if wanted in (name.strip().lower() for name in names_of(row)):
                    return row
        known = ", ".join(row.name for row in self.rows) or "none"
        raise KeyError(f"Entity {name!r} is not in procedure {self.id}. Its entities: {known}.")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the entities; two entities may have the same name."""
        return tuple(row.name for row in self.rows)

    @property
    def is_grounded(self) -> bool:
        """Whether the grid knows where its values stand in the text."""
        return self.step_spans is not None

    def to_dict(self) -> dict[str, Any]:
        """Give the grid as plain values, in the shape of the JSON files.

        A grounded grid has `step_spans`, `mentions`, `initial_span` and `location_span`.
        """
        grid: dict[str, Any] = {"id": self.id, "steps": list(self.steps)}
        if self.step_spans is not None:
            grid["step_spans"] = [span.to_dict() for span in self.step_spans]
        grid["entities"] = [row.to_dict(is_grounded=self.is_grounded) for row in self.rows]
        if self.signature is not None:
            grid["signature"] = self.signature
        return grid

    def to_json(self) -> str:
        """Give the grid as one line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_tsv(self) -> str:
        """Give the grid in the leaderboard's six tab-separated columns, without a header."""
        return "".join(
            "\t".join(_one_line(cell) for cell in record) + "\n" for record in self._records()
        )

    def to_csv(self) -> str:
        """Give the grid as comma-separated values with a header."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(self._records())
        return out.getvalue()

    def _records(self) -> list[tuple[str, ...]]:
        return [
            (self.id, str(number), row.name, cell.action.value, cell.before, cell.after)
            for row in self.rows
            for number, cell in enumerate(row.steps, 1)
        ]

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Self:
        """Build a grid from plain values in the shape of the JSON files."""
        steps = get_field(value, "steps", list)
        rows = tuple(map(read_row, get_field(value, "entities", list)))
        if not all(isinstance(step, str) for step in steps):
            raise KoalaError('"steps" must be a list of strings.')
        signature = value.get("signature")
        if signature is not None and not isinstance(signature, str):
            raise KoalaError('"signature" must be a string.')
        spans = read_spans(value.get("step_spans"), "step_spans")
        return cls(str(get_field(value, "id", (str, int))), tuple(steps), rows, signature, spans)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Build a grid from JSON text."""
        return cls.from_dict(parse_json(text))


def _one_line(cell: str) -> str:
    """Replace tabs and line ends in a TSV cell by spaces."""
    return " ".join(cell.split()) if any(c in cell for c in "\t\n\r") else cell
