"""Time of encoding and of whole training steps: texts encoded once, or once per entity.

    KOALA_DATA=… python benchmarks/encoding.py [--config configs/paper/propara/koala-minilm.toml]

The same model is measured in two ways. *Once*: a procedure is encoded once for all its entities,
and each distinct triple once in a run. *Per entity*: each entity has its own copy of the text, and
all its triples are encoded in every batch. Both ways alternate batch by batch in one process, with
the same entities.
"""

import argparse
import json
import os
import random
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from koala.corpora import read_corpus
from koala.inputs.examples import group_items
from koala.network.torch.koala import build_model
from koala.network.torch.transformer import run_layers
from koala.settings import read_settings
from koala.training.data import build_training_data
from koala.training.loop import build_batcher
from koala.training.loss import build_targets, compute_losses
from koala.training.optimizer import build_optimizer


class NoCache:
    """Replaces the cache of a frozen transformer: every call runs the layers again."""

    def __init__(self, transformer):
        self.transformer = transformer

    def get(self, subwords, mask):
        self.transformer.eval()
        with torch.no_grad():
            return run_layers(self.transformer, subwords, mask)


_CONFIG = Path("configs/paper/propara/koala-minilm.toml")


def repeat_triples(batch):
    """Give every entity its own rows of subwords for its triples."""
    wanted = batch.triples[batch.triple_mask]
    numbers = np.zeros_like(batch.triples)
    numbers[batch.triple_mask] = np.arange(len(wanted))
    names = ("triple_subwords", "triple_subwords_mask", "triple_input_mask")
    return replace(batch, triples=numbers, **{n: getattr(batch, n)[wanted] for n in names})


def encode(model, batch):
    """Run both encoders on a batch, without the decoders."""
    tensors = {name: torch.from_numpy(getattr(batch, name)) for name in batch.__slots__}
    encoder = model.text_encoder
    inputs = (tensors[name] for name in ("subwords", "subwords_mask", "convention"))
    text = encoder.dropout(encoder(*inputs))
    triples = model.triple_encoder(
        tensors["triple_subwords"], tensors["triple_input_mask"], tensors["triple_subwords_mask"]
    )
    return text.sum() + triples.sum()


def measure(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--config", type=Path, default=_CONFIG)
    parser.add_argument("--batches", type=int, default=12)
    parser.add_argument("--size", type=int, default=32, help="entities per batch")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    settings = read_settings(arguments.config)
    corpus = read_corpus(Path(os.environ["KOALA_DATA"], "propara"))
    data = build_training_data(corpus, settings)
    model, batcher = build_model(settings), build_batcher(settings)
    optimizer = build_optimizer(model, settings)
    cache, no_cache = model.triple_encoder.frozen, NoCache(model.triple_encoder.transformer)
    groups = group_items(data.train)
    random.Random(0).shuffle(groups)
    batches, items = [], []
    for group in groups:
        items += group
        if len(items) >= arguments.size:
            batches.append(items)
            items = []
    seconds = {}

    def add(kind, part, action):
        seconds[kind, part] = seconds.get((kind, part), 0.0) + measure(action)

    def learn(batch, targets):
        losses = compute_losses(model(batch), targets, model.crf, settings.loss)
        optimizer.zero_grad()
        losses.total.backward()
        optimizer.step()

    def infer(run):
        model.eval()
        with torch.no_grad():
            run()
        model.train()

    n_entities = n_procedures = 0
    model.train()
    # Warm up; this also fills the cache, as the first epoch does.
    for items in batches[: arguments.batches]:
        encode(model, batcher.build(items)).backward()
    for items in batches[: arguments.batches]:
        n_entities += len(items)
        n_procedures += len(group_items(items))
        alone = [replace(item, procedure=replace(item.procedure)) for item in items]
        shared = batcher.build(items)
        apart = repeat_triples(batcher.build(alone))
        targets = build_targets(items)
        for kind, batch, frozen in (("once", shared, cache), ("per entity", apart, no_cache)):
            model.triple_encoder.frozen = frozen
            add(kind, "training, encoding", lambda b=batch: encode(model, b).backward())
            add(kind, "training, whole step", lambda b=batch, t=targets: learn(b, t))
            add(kind, "inference, encoding", lambda b=batch: infer(lambda: encode(model, b)))
            add(kind, "inference, whole", lambda b=batch: infer(lambda: model(b)))
    parts = list(dict.fromkeys(part for _, part in seconds))
    report = {
        "config": str(arguments.config),
        "batches": arguments.batches,
        "entities": n_entities,
        "procedures": n_procedures,
        "milliseconds per procedure": {
            part: {
                kind: round(1e3 * seconds[kind, part] / n_procedures, 1)
                for kind in ("once", "per entity")
            }
            for part in parts
        },
        "ratio": {
            part: round(seconds["per entity", part] / seconds["once", part], 2) for part in parts
        },
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
