"""The folder of an exported network: its graphs, its tokenizer, and a card that describes it."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from koala.document import CONVENTIONS
from koala.errors import FileError
from koala.files import parse_json, read_text, write_text
from koala.settings import Settings

NETWORK, TRIPLES, TABLES = "network.onnx", "triples.onnx", "tables.safetensors"
"""The graph of texts, that of triples where they are read, and the tables that both read."""

CARD, TOKENIZER = "card.json", "tokenizer.json"

MBR = "mbr"
"""In the scores of a card: those of MBR decoding; the others are those of Viterbi decoding."""

OUTPUTS = ("tags", "locations", "attention")
"""What the graph gives, in this order; the last only where it reads triples."""


@dataclass(frozen=True, slots=True)
class Card:
    """What a network is, and how well it does."""

    name: str
    settings: str
    """All settings, as TOML."""
    transitions: list[list[float]] = field(default_factory=list)
    """Of the CRF, from the current to the next tag; starts and ends likewise."""
    starts: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    scores: dict[str, Any] = field(default_factory=dict)
    calibration: dict[str, Any] = field(default_factory=dict)
    """Temperatures, location rerankers and consistency weights, as `koala calibrate` fits them
    (`koala.inference.calibration`)."""
    signature: str = ""
    """Name, and a digest of the graph: what made a grid."""
    needs: dict[str, list[str]] = field(default_factory=dict)
    """For each graph the tables that are not in its file."""
    public: dict[str, tuple[str, bool]] = field(default_factory=dict)
    """Which of them are the public encoder's: the name of the weight, and whether it is turned."""
    encoder: str = ""
    """Where those lie as 8-bit numbers, seen from the network's folder; else with the encoder."""

    def read_settings(self) -> Settings:
        """Give the settings as values."""
        return Settings.from_toml(self.settings)


def measure_size(folder: Path) -> int:
    """Count the bytes of a network, an encoder that it shares with others among them."""
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
        raise FileError(folder, f"no exported network here: it has no {CARD}.")
    try:
        return Card(**_translate(parse_json(read_text(path))))
    except TypeError as error:
        raise FileError(path, f"not a card of this version of koala: {error}.") from None


def _translate(values: dict[str, Any]) -> dict[str, Any]:
    """Give the values of a card with the names of this version."""
    if "tag_temperature" not in values:
        return values
    pair = [values.pop("tag_temperature"), values.pop("place_temperature")]
    temperatures = values.pop("temperatures", None) or dict.fromkeys(CONVENTIONS, pair)
    rerankers = values.pop("rerankers", {})
    scores = values.get("scores", {})
    if "expected" in scores:
        scores[MBR] = scores.pop("expected")
    return {**values, "calibration": {"temperatures": temperatures, "rerankers": rerankers}}
