"""A tiny corpus, a tiny knowledge store and tiny models with random weights, built for tests."""

import json
from pathlib import Path

from koala.corpora import Corpus, Example
from koala.document import Entity, Procedure, Step
from koala.encoders.windows import load_tokenizer
from koala.grid import Grid, Row
from koala.knowledge import conceptnet
from koala.settings import (
    DecoderSettings,
    EncoderSettings,
    KnowledgeSettings,
    Settings,
    TrainingSettings,
)

TRIPLES = """\
water\tAtLocation\tcloud\t1.0
water\tAtLocation\tsoil\t1.0
water\tRelatedTo\train\t2.0
plant\tDesires\twater\t1.0
plant\tAtLocation\tsoil\t1.0
oil\tIsA\tliquid\t1.0
sugar\tCreatedBy\tplant\t1.0
rain\tRelatedTo\tcloud\t3.0
"""

TEXTS = {
    "rain": (
        ("Clouds hold water.", "The water falls to the soil.", "Plants take the water up."),
        {"water": ["cloud", "cloud", "soil", "plant"], "rain": ["-", "-", "soil", "-"]},
    ),
    "oil": (
        (
            "Plants die in the sea.",
            "Mud covers the plants.",
            "The plants turn into oil.",
            "It waits.",
        ),
        {"plants": ["?", "sea", "mud", "-", "-"], "oil": ["-", "-", "-", "mud", "mud"]},
    ),
    "sugar": (
        ("Light hits the leaf.", "The leaf makes sugar."),
        {"sugar": ["-", "-", "leaf"], "light": ["?", "leaf", "-"]},
    ),
}


def build_corpus() -> Corpus:
    examples = []
    for id, (texts, rows) in TEXTS.items():
        grid = Grid(id, texts, tuple(Row.from_locations(n, row) for n, row in rows.items()))
        steps, entities = tuple(map(Step, texts)), tuple(map(Entity, rows))
        procedure = Procedure(id, steps, entities, convention="propara")
        examples.append(Example(procedure, grid))
    return Corpus("propara", {"train": tuple(examples), "dev": tuple(examples)})


def build_store(folder: Path) -> Path:
    (folder / "triples.tsv").write_text(TRIPLES)
    conceptnet.build_store([folder / "triples.tsv"], folder / "store")
    return folder / "store"


def write_retrieved(path: Path) -> Path:
    """Write triples of every entity of the corpus, as if they had been retrieved before."""
    triple = {"relation": "AtLocation", "tail": "soil", "weight": 1.0}
    lines = [
        {"id": id, "entity": name, "triples": [{"head": name, **triple}]}
        for id, (_, rows) in TEXTS.items()
        for name in rows
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def write_propara(folder: Path) -> Path:
    """Write the corpus in the leaderboard's files of ProPara; the test split has no answers."""
    for split in ("train", "dev", "test"):
        target = folder / "leaderboard" / split
        target.mkdir(parents=True)
        sentences, answers, template = "", "", ""
        for example in build_corpus().splits["train"]:
            grid = example.gold
            for number, text in enumerate(grid.steps, 1):
                sentences += f"{grid.id}\t{number}\t{text}\n"
            answers += grid.to_tsv()
            for row in grid.rows:
                for number in range(1, len(grid.steps) + 1):
                    template += f"{grid.id}\t{number}\t{row.name}\tNONE\t?\t?\n"
        (target / "sentences.tsv").write_text(sentences)
        (target / "dummy-predictions.tsv").write_text(template)
        if split != "test":
            (target / "answers.tsv").write_text(answers)
    return folder


def build_encoder(folder: Path) -> Path:
    """Save a BERT with two layers, random weights and the real vocabulary; needs torch."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=30522,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=128,
    )
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    load_tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def build_settings(encoder: Path, store: Path | None, **training) -> Settings:
    knowledge = KnowledgeSettings(
        is_used=store is not None, encoder=str(encoder), store=str(store) if store else None
    )
    defaults = {"epochs": 2, "batch": 4, "learning_rate": 1e-3, "patience": 99}
    return Settings(
        encoder=EncoderSettings(name=str(encoder), token_width=16, dropout=0.0),
        knowledge=knowledge,
        decoder=DecoderSettings(width=16),
        training=TrainingSettings(**(defaults | training)),
    )
