"""Retrieved triples from a file, instead of Algorithm 1.

There are two formats, gzipped or not: the published system's JSON list, whose triples are strings
of comma-separated fields (`cpnet`), and JSON lines with `id`, `entity` and `triples`, each with
`head`, `relation`, `tail` and `weight`.
"""

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from koala.document import Procedure
from koala.errors import FileError, KoalaError
from koala.files import parse_json
from koala.knowledge.retrieval import Triples
from koala.knowledge.triple import RELATIONS, Triple

_RELATIONS = {relation.lower(): relation for relation in RELATIONS}
_FIELDS = 8
"""Number of fields of a published triple up to its weight."""

_GZIP = b"\x1f\x8b"

Key = tuple[str, str]
"""Id of the procedure, name of the entity."""


def read_retrieved(path: Path) -> dict[Key, tuple[Triple, ...]]:
    """Read a file of retrieved triples, best first."""
    found = {}
    for entry in _read_entries(path):
        try:
            lines = entry.get("cpnet")
            triples = (
                map(_parse_published, lines) if lines is not None else map(_build, entry["triples"])
            )
            found[str(entry["id"]), _normalize(entry["entity"])] = tuple(triples)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileError(path, f"not a file of retrieved triples ({error!r}).") from None
    return found


def find_retrieved(path: str) -> Path:
    """Find a file of retrieved triples: as given, or else inside the folder `KOALA_DATA`."""
    root = os.environ.get("KOALA_DATA")
    if root and not Path(path).exists() and Path(root, path).exists():
        return Path(root, path)
    return Path(path)


def sign_retrieved(path: Path) -> str:
    """Give the signature of a file of retrieved triples."""
    try:
        return f"file-{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}"
    except OSError as error:
        raise FileError(path, f"cannot be read ({error}).") from None


def choose_retrieved(
    procedures: Sequence[Procedure], known: Mapping[Key, tuple[Triple, ...]], n_triples: int
) -> Triples:
    """Return the first `n_triples` of every entity; an empty tuple for an unknown entity."""
    return [
        tuple(
            known.get((procedure.id, _normalize(entity.name)), ())[:n_triples]
            for entity in procedure.entities
        )
        for procedure in procedures
    ]


def _read_entries(path: Path) -> Iterator[dict[str, Any]]:
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if raw.startswith(_GZIP) else raw).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise FileError(path, f"cannot be read ({error}).") from None
    for entry in _parse(path, text):
        if not isinstance(entry, dict):
            raise FileError(path, f"expected a JSON object, got {entry!r}.")
        yield entry


def _parse(path: Path, text: str) -> list[Any]:
    """Parse a JSON list, or JSON lines."""
    is_list = text.lstrip().startswith("[")
    entries: list[Any] = []
    for number, part in enumerate([text] if is_list else text.split("\n"), 1):
        try:
            value = parse_json(part) if part.strip() else []
        except KoalaError as error:
            raise FileError(path, str(error), line=None if is_list else number) from None
        entries += value if isinstance(value, list) else [value]
    return entries


def _parse_published(line: str) -> Triple:
    """Parse `isa, plant, plant, n, build_complex, building_complex, n, 2.0, …`."""
    fields = line.split(", ")
    if len(fields) < _FIELDS:
        raise ValueError(line)
    relation, _, head, _, _, tail, _, weight = fields[:_FIELDS]
    return _build({"head": head, "relation": relation, "tail": tail, "weight": float(weight)})


def _build(values: Mapping[str, Any]) -> Triple:
    relation = _RELATIONS.get(str(values["relation"]).lower())
    if relation is None:
        raise ValueError(f"unknown relation {values['relation']!r}")
    head, tail = (str(values[side]).replace("_", " ") for side in ("head", "tail"))
    return Triple(head, relation, tail, float(values.get("weight", 1.0)))


def _normalize(name: str) -> str:
    """Normalize case and spaces of a name and its aliases."""
    return ";".join(" ".join(alias.lower().split()) for alias in name.split(";"))
