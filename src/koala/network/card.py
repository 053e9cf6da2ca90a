"""The folder of an exported network: graphs, tokenizer, and a card that describes the network."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from koala.document import CONVENTIONS
from koala.errors import FileError
from koala.files import parse_json, read_text, write_text
from koala.settings import Settings

NETWORK, TRIPLES, TABLES = "network.onnx", "triples.onnx", "tables.safetensors"
"""The graph that reads texts, the graph that reads triples (only in networks with knowledge), and
the weight tables that both graphs share."""

CARD, TOKENIZER = "card.json", "tokenizer.json"

MBR = "mbr"
"""Key of the MBR scores among the scores of a card; the other scores are those of Viterbi."""

OUTPUTS = ("tags", "locations", "attention")
"""Outputs of the graph, in this order; attention only if the network reads triples."""


@dataclass(frozen=True, slots=True)
class Card:
    """Description of an exported network, with its scores on dev."""

    name: str
    settings: str
    """All settings, as TOML."""
    transitions: list[list[float]] = field(default_factory=list)
    """(tags, tags): CRF scores from the current tag to the next."""
    starts: list[float] = field(default_factory=list)
    """(tags,): CRF scores of the first tag."""
    ends: list[float] = field(default_factory=list)
    """(tags,): CRF scores of the last tag."""
    scores: dict[str, Any] = field(default_factory=dict)
    calibration: dict[str, Any] = field(default_factory=dict)
    """Temperatures, location rerankers and consistency weights, as `koala calibrate` fits them
    (`koala.inference.calibration`)."""
    signature: str = ""
    """Name, digest of the graphs and version of koala; every grid names the signature it was made
    with."""
    needs: dict[str, list[str]] = field(default_factory=dict)
    """For each graph, the tables that are stored outside its file."""
    public: dict[str, tuple[str, bool]] = field(default_factory=dict)
    """Those of them that are the public encoder's: name of the weight, whether it is transposed."""
    encoder: str = ""
    """Path, relative to the network's folder, of an 8-bit copy of the public encoder's tables.
    Empty: they are read from the public encoder itself."""

    def read_settings(self) -> Settings:
        """Parse the settings."""
        return Settings.from_toml(self.settings)


def measure_size(folder: Path) -> int:
    """Count the bytes of a network, including an encoder file that it shares with others."""
    paths = [*folder.iterdir()]
    if encoder := read_card(folder).encoder:
        paths.append(folder / encoder)
    return sum(path.stat().st_size for path in paths)


def write_card(card: Card, folder: Path) -> None:
    """Write a card into the folder of its network."""
    write_text(folder / CARD, json.dumps(asdict(card), indent=2, ensure_ascii=False) + "\n")


def read_card(folder: Path) -> Card:
    """Read the card of an exported network."""
    path = folder / CARD
    if not path.is_file():
        raise FileError(
            folder, f"no exported network here: {CARD} is missing. Make one with `koala export`."
        )
    try:
        return Card(**_translate(parse_json(read_text(path))))
    except TypeError as error:
        raise FileError(
            path, f"not a card of this version of koala ({error}). Export the network again."
        ) from None


def _translate(values: dict[str, Any]) -> dict[str, Any]:
    """Rename the fields of a card that an earlier version wrote."""
    if "tag_temperature" not in values:
        return values
    pair = [values.pop("tag_temperature"), values.pop("place_temperature")]
    temperatures = values.pop("temperatures", None) or dict.fromkeys(CONVENTIONS, pair)
    rerankers = values.pop("rerankers", {})
    scores = values.get("scores", {})
    if "expected" in scores:
        scores[MBR] = scores.pop("expected")
    return {**values, "calibration": {"temperatures": temperatures, "rerankers": rerankers}}
