"""Speed of an exported network, compared with torch and with its encoder alone; start and memory.

    KOALA_DATA=… python benchmarks/tracking.py [--run runs/small-seed0] [--model small] [--rounds 5]

In one process, three variants alternate: the ONNX network; torch with the same weights (`--run` is
the run that the network was exported from); and the floor, which only runs the encoder over the
same subwords. Annotation and the building of batches are not part of these times and measured
separately. The time from process start to the first grid, and the peak memory, are measured in
separate processes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from koala.cache import BoundedCache
from koala.corpora import read_corpus
from koala.document import annotate
from koala.inputs.examples import group_items, split_items
from koala.registry import find_model, load

START = """
import koala
from koala.bundled.examples import read_example
example = read_example()
koala.load(MODEL).track(list(example.steps), list(example.names))
# Not getrusage, whose peak includes the memory of the parent process.
status = dict(line.split(":") for line in open("/proc/self/status"))
print(int(status["VmHWM"].split()[0]) / 1024)
"""


def time_of(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def open_encoder_layers(name, n_layers, *, n_threads=None):
    """Open an encoder in onnxruntime: its lowest layers, or all; inputs "subwords" and "mask"."""
    import onnxruntime
    import torch

    from koala.encoders.weights import find_weights
    from koala.network.torch.transformer import load_transformer, run_layers

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.transformer = load_transformer(find_weights(name)).eval()

        def forward(self, subwords, mask):
            return run_layers(self.transformer, subwords, mask, stop=n_layers)[:, 0]

    example = torch.tensor([[101, 2300, 102]]), torch.ones((1, 3), dtype=torch.bool)
    names = ["subwords", "mask", "read"]
    options = onnxruntime.SessionOptions()
    if n_threads:
        options.intra_op_num_threads = n_threads
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "encoder.onnx")
        torch.onnx.export(
            Encoder(), example, str(path), dynamo=False, opset_version=17,
            input_names=names[:2], output_names=names[2:],
            dynamic_axes={name: {0: "rows", 1: "subwords"} for name in names},
        )  # fmt: skip
        providers = ["CPUExecutionProvider"]
        return onnxruntime.InferenceSession(str(path), options, providers=providers)


def clear_caches(owner) -> None:
    """Clear all bounded caches among the attributes of an object or a module."""
    for value in vars(owner).values():
        if isinstance(value, BoundedCache):
            value.clear()


def build_floor(settings, batches):
    """Build a function that runs only the encoder, over the same subwords as the network.

    All layers run over the text and, if they read triples, the lower ones over each distinct triple
    of a batch.
    """
    texts = open_encoder_layers(settings.encoder.name, None)
    triples = None
    if settings.knowledge.is_used and settings.knowledge.encoder == "shared":
        triples = open_encoder_layers(settings.encoder.name, settings.encoder.n_frozen_layers)
    is_own = settings.encoder.entity != "none"

    def run():
        for batch in batches:
            owner = batch.procedure if is_own else slice(None)
            texts.run(None, {"subwords": batch.subwords[owner], "mask": batch.subwords_mask[owner]})
            if triples is not None:
                feed = {"subwords": batch.triple_subwords, "mask": batch.triple_input_mask}
                triples.run(None, feed)

    return run


def measure_start(model: str, rounds: int) -> tuple[float, float]:
    code = START.replace("MODEL", repr(model))
    found = []
    for _ in range(rounds):
        start = time.time()
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        found.append((time.time() - start, float(done.stdout)))
    return statistics.median(f[0] for f in found), max(f[1] for f in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="small")
    parser.add_argument("--run", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", type=int, default=64, help="entities per batch")
    args = parser.parse_args()
    tracker = load(args.model)
    scorer = tracker.scorer
    examples = read_corpus(Path(os.environ["KOALA_DATA"], "propara")).splits["dev"]
    procedures = [example.procedure for example in examples]
    annotate(procedures[:2])
    annotation = time_of(lambda: annotate(procedures))
    items = tracker._build_items(procedures, None)
    groups = split_items(items, args.size)
    building = time_of(lambda: [scorer.batcher.build(group) for group in groups])
    batches = [scorer.batcher.build(group) for group in groups]

    def run_network():
        # Each round encodes its triples again, as in the other variants.
        if scorer.network._triples is not None:
            clear_caches(scorer.network._triples)
        return [scorer.network(batch) for batch in batches]

    works = {"onnx": run_network}
    if args.run:
        from koala.training.checkpoint import open_checkpoint
        from koala.training.export.packing import PublicTables, round_weights

        model, _ = open_checkpoint(args.run)
        model.clear_cache()
        round_weights(model, PublicTables())
        works["torch"] = lambda: [model.predict(batch) for batch in batches]
    works["floor"] = build_floor(tracker.settings, batches)
    for work in works.values():
        work()
    times = {name: [] for name in works}
    for _ in range(args.rounds):
        for name, work in works.items():
            times[name].append(time_of(work))
    best = {name: statistics.median(values) for name, values in times.items()}
    whole = [time_of(lambda: tracker.track_all(procedures)) for _ in range(args.rounds)]
    seconds, memory = measure_start(str(find_model(args.model)), args.rounds)
    n = len(group_items(items))
    report = {
        "model": tracker.card.signature,
        "paragraphs": n,
        "entities": len(items),
        "paragraphs_per_second": {name: round(n / value, 1) for name, value in best.items()},
        "times_the_floor": {name: round(v / best["floor"], 2) for name, v in best.items()},
        "seconds_for_all": {
            **{name: round(value, 3) for name, value in best.items()},
            "annotation": round(annotation, 3),
            "building batches": round(building, 3),
            "text to grid": round(statistics.median(whole), 3),
        },
        "start_to_first_grid_seconds": round(seconds, 2),
        "peak_memory_mb": round(memory),
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
