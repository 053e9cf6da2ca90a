"""Commands to run with one process and with two: training, the same resumed, a text stage.

`run_all` runs them in one process; `accelerate launch … tests/processes.py HOME FOLDER` in several.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from unittest import mock

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from tests import tiny

TEXTS = [
    "Roots absorb water from the soil.",
    "The water flows to the leaf.",
    "Light from the sun and carbon dioxide enter the leaf.",
    "Rain falls on the mountain and the river carries sand to the sea.",
    "Magma rises, cools and forms rock.",
]
STAGE = """stage = "text"\nencoder = "{encoder}"\nepochs = 2\nbatch = 2\nlearning_rate = 1e-3
[head]\nlearning_rate = 1e-2\n[masking]\nprobability = 0.9\n"""
PRETRAIN = ("pretrain", "text", "--corpus")


def prepare(folder: Path) -> Path:
    """Write settings, data and a model without dropout, so that runs differ only by rounding."""
    encoder = tiny.build_encoder(folder / "encoder")
    config = json.loads((encoder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (encoder / "config.json").write_text(json.dumps(config))
    settings = tiny.build_settings(encoder, tiny.build_store(folder), epochs=3, ema_decay=0.9)
    (folder / "train.toml").write_text(settings.to_toml())
    shorter = replace(settings, training=replace(settings.training, epochs=1))
    (folder / "shorter.toml").write_text(shorter.to_toml())
    (folder / "stage.toml").write_text(STAGE.format(encoder=encoder))
    lines = [json.dumps({"query": "1", "text": text}) for text in TEXTS]
    (folder / "texts.jsonl").write_text("\n".join(lines) + "\n")
    tiny.write_propara(folder / "propara")
    return folder


def run_all(home: Path, folder: Path) -> None:
    """Run the commands on the files that `prepare` wrote."""
    train = ("train", "--data", home / "propara", "--json", "-o")
    call(*train, folder / "train", home / "train.toml")
    call(*train, folder / "parts", home / "shorter.toml")
    call(*train, folder / "parts", home / "train.toml", "--resume")
    call(*PRETRAIN, home / "texts.jsonl", home / "stage.toml", "-o", folder / "stage")


def run_wrong(home: Path, folder: Path) -> None:
    """Run two of them with a bug that tests must detect: losses are not weighed by their share."""
    with mock.patch("koala.training.loop.weigh_losses", lambda losses, *_: losses):
        call("train", "--data", home / "propara", "-o", folder / "wrong", home / "train.toml")
    name = "koala.pretraining.language_model.LanguageModelTrainer.compute_loss"
    with mock.patch(name, lambda _self, model, inputs, *_, **__: mean_of(model(**inputs))):
        stage = ("-o", folder / "wrong-stage", home / "stage.toml")
        call(*PRETRAIN, home / "texts.jsonl", *stage)


def mean_of(losses):
    return losses.sum() / max(losses.numel(), 1)


def call(*words: object) -> None:
    from koala.cli import app

    app([str(word) for word in words], standalone_mode=False)


if __name__ == "__main__":
    run_all(*map(Path, sys.argv[1:]))
    run_wrong(*map(Path, sys.argv[1:]))
