"""A bundled network on the runtime: against torch, against the bare encoder, and from the start.

    KOALA_DATA=… python benchmarks/tracking.py [--run runs/tracker] [--model small] [--rounds 5]

All in one process, taking turns: the runtime, torch with the same weights (`--run` is the folder
the network was exported from), and the floor: the same encoder passes over the same pieces, and
nothing else. Texts are annotated and batches built beforehand for all three; annotation is timed
apart. The time from process start to the first grid, and the peak memory of that process, are taken
from processes of their own.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from koala.batch import group_items, split_items
from koala.corpora import read_corpus
from koala.document import annotate
from koala.runtime.models import find_model
from koala.tracker import load

START = """
import koala
from koala.examples import read_example
example = read_example()
koala.load(MODEL).track(list(example.steps), list(example.names))
# Not getrusage: its peak is handed down from the process that started this one.
status = dict(line.split(":") for line in open("/proc/self/status"))
print(int(status["VmHWM"].split()[0]) / 1024)
"""


def time_of(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def build_floor(settings, batches):
    """The encoder alone on onnxruntime, over the same pieces as the network reads: all layers over
    the text and, where they read triples, the lower ones over those.
    """
    import onnxruntime
    import torch

    from koala.encoders.weights import find_weights
    from koala.model.encoder import load_transformer, run_layers
    from koala.settings import SHARED

    transformer = load_transformer(find_weights(settings.encoder.name)).eval()
    path = Path("/tmp/koala-floor.onnx")

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.transformer = transformer

        def forward(self, pieces, mask, triples=None, triples_mask=None):
            text = run_layers(self.transformer, pieces, mask)
            if triples is None:
                return text
            n_layers = settings.encoder.n_frozen_layers
            return text, run_layers(self.transformer, triples, triples_mask, stop=n_layers)

    names = ["pieces", "pieces_mask"]
    if settings.knowledge.is_used and settings.knowledge.encoder == SHARED:
        names += ["triple_pieces", "triple_input_mask"]
    outputs = ["text", "read triples"][: len(names) // 2]
    torch.onnx.export(
        Encoder(), tuple(torch.from_numpy(getattr(batches[0], name)) for name in names),
        str(path), dynamo=False, opset_version=17, input_names=names, output_names=outputs,
        dynamic_axes={name: {0: f"{name} 0", 1: f"{name} 1"} for name in [*names, *outputs]},
    )  # fmt: skip
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    is_own = settings.encoder.entity != "none"
    feeds = []
    for batch in batches:
        feed = {name: getattr(batch, name) for name in names}
        if is_own:
            feed |= {name: feed[name][batch.procedure] for name in names[:2]}
        feeds.append(feed)
    return lambda: [session.run(None, feed) for feed in feeds]


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
    parser.add_argument("--size", type=int, default=64, help="entities of a batch")
    args = parser.parse_args()
    tracker = load(args.model)
    reader = tracker.scorer
    examples = read_corpus(Path(os.environ["KOALA_DATA"], "propara")).splits["dev"]
    procedures = [example.procedure for example in examples]
    annotate(procedures[:2])
    annotation = time_of(lambda: annotate(procedures))
    items = tracker._build_items(procedures, None)
    groups = split_items(items, args.size)
    building = time_of(lambda: [reader.batcher.build(group) for group in groups])
    batches = [reader.batcher.build(group) for group in groups]
    works = {"runtime": lambda: [reader.network(batch) for batch in batches]}
    if args.run:
        from koala.training.checkpoint import open_checkpoint
        from koala.training.export import round_weights

        model, _ = open_checkpoint(args.run)
        model.forget()
        round_weights(model)
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
