"""Field names of earlier versions, which older models and checkpoints still contain."""

from collections.abc import Mapping
from typing import Any

_TABLES: Mapping[str, Mapping[str, str | None]] = {
    "text": {"places": "locations", "known_places": "known_locations"},
    "encoder": {"has_prompt": "has_question"},
    "knowledge": {"gate_start": "gate_bias"},
    "decoder": {"places": "locations", "decoding": None, "place_weight": None, "has_hints": None},
    "training": {
        "averaging": "ema_decay",
        "adds_gold_places": "adds_gold_locations",
        "hidden_prompts": "hidden_questions",
        "n_dropouts": None,
        "n_copies": None,
        "renamed": None,
        "dropped": None,
    },
}
"""Old name → new name, for each table; None: the field was removed."""

_VALUES: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("decoder", "tags"): {"uses": "participation"},
    ("training", "selection"): {"decoded": "viterbi", "expected": "mbr"},
}
"""Old value → new value, for each table and (new) field."""


def translate(values: Mapping[str, Any]) -> dict[str, Any]:
    """Give settings, as plain values, with the names and values of this version."""
    return {
        name: _translate_table(name, value) if isinstance(value, dict) else value
        for name, value in values.items()
    }


def _translate_table(table: str, values: Mapping[str, Any]) -> dict[str, Any]:
    names = _TABLES.get(table, {})
    translated: dict[str, Any] = {}
    for old, value in values.items():
        new = names.get(old, old)
        if new is not None:
            new_values = _VALUES.get((table, new), {})
            translated[new] = new_values.get(value, value) if isinstance(value, str) else value
    return translated
