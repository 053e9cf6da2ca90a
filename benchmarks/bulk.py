"""`koala batch` on many documents: throughput, memory, kills, broken records and Ray.

    python benchmarks/bulk.py workers many.jsonl           # 1 and 2 workers, memory over time
    python benchmarks/bulk.py floor many.jsonl --n 256 --threads 1   # lower bound by encoders
    python benchmarks/bulk.py kills many.jsonl --n 2000 --kills 20
    python benchmarks/bulk.py broken broken.jsonl
    python benchmarks/bulk.py ray many.jsonl --n 1000      # the Ray engine, and a killed actor
    python benchmarks/bulk.py driver many.jsonl            # cost of a chunk in the main process
    python benchmarks/bulk.py plot workers.json            # plot the memory of the first part

`benchmarks/sample_procedures.py` makes the input files. Outputs of different ways to run koala are
compared.
Prints JSON; the exit code is 1 if outputs differ that must be equal.
"""

import argparse
import itertools
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

KOALA = [sys.executable, "-m", "koala"]


def run_batch(source: Path, output: Path, *options: str) -> float:
    """Run `koala batch`; give the seconds it took."""
    start = time.perf_counter()
    subprocess.run([*KOALA, "batch", source, "-o", output, *options], check=True, text=True,
                   stderr=subprocess.DEVNULL)  # fmt: skip
    return time.perf_counter() - start


def cut(source: Path, n: int, folder: Path) -> Path:
    """Copy the first lines of a file."""
    target = folder / f"first-{n}.jsonl"
    with source.open("rb") as lines:
        target.write_bytes(b"".join(itertools.islice(lines, n)))
    return target


class Memory:
    """Measures the memory of all child processes over time; shared pages are divided (PSS)."""

    def __init__(self, seconds: float = 2.0) -> None:
        self.trace: list[tuple[float, float]] = []
        self._seconds = seconds
        self._done = threading.Event()

    def __enter__(self) -> "Memory":
        self._start = time.perf_counter()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(self._seconds):
            total = sum(map(_proportional_kilobytes, _find_children(os.getpid()))) / 1024
            self.trace.append((round(time.perf_counter() - self._start, 1), round(total, 1)))


def _find_children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *_find_children(int(child))]
    return found


def _proportional_kilobytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def measure_workers(source: Path, args: argparse.Namespace, folder: Path) -> dict[str, object]:
    n = sum(1 for _ in source.open("rb"))
    report: dict[str, object] = {"procedures": n}
    outputs = []
    for workers in (1, 2):
        outputs.append(folder / f"workers-{workers}.jsonl")
        with Memory() as memory:
            seconds = run_batch(source, outputs[-1], "--workers", str(workers))
        late = [value for when, value in memory.trace if when > 60]
        half = len(late) // 2
        report[f"{workers} workers"] = {
            "seconds": round(seconds, 1),
            "per_second": round(n / seconds, 2),
            "megabytes_peak": max(value for _, value in memory.trace),
            "megabytes_after_first_minute": statistics.median(late[: max(half, 1)]) if late else 0,
            "megabytes_second_half": statistics.median(late[half:]) if late else 0,
            "trace": memory.trace[:: max(1, len(memory.trace) // 200)],
        }
    rates = [report[f"{w} workers"]["per_second"] for w in (1, 2)]
    report["speed_up"] = round(rates[1] / rates[0], 2)
    report["same_bytes"] = outputs[0].read_bytes() == outputs[1].read_bytes()
    report["sample"] = compare_sample(source, outputs[0], args.sample)
    report["is_right"] = bool(report["same_bytes"]) and not report["sample"]["different"]
    return report


def compare_sample(source: Path, output: Path, n: int) -> dict[str, object]:
    """Track a sample of the procedures one by one, and compare with the output of the batch."""
    import koala

    tracker = koala.load()
    lines = list(zip(source.open(), output.open(), strict=True))
    different, apart = [], 0.0
    for line, written in random.Random(0).sample(lines, n):
        record, grid = json.loads(line), json.loads(written)
        text = record.get("text") or record["steps"]
        ours = tracker.track(text, record.get("entities"), id=record["id"]).to_dict()
        if _list_changes(ours) != _list_changes(grid):
            different.append(record["id"])
        else:
            pairs = zip(_list_confidences(ours), _list_confidences(grid), strict=True)
            apart = max(apart, *(abs(a - b) for a, b in pairs))
    return {"n": n, "different": different, "largest_difference_of_a_confidence": round(apart, 5)}


def _cells(grid):
    return [(entity["name"], step) for entity in grid["entities"] for step in entity["steps"]]


def _list_changes(grid):
    return [(name, step["action"], step["before"], step["after"]) for name, step in _cells(grid)]


def _list_confidences(grid):
    return [step["confidence"] for _, step in _cells(grid)] or [0.0]


def forget() -> None:
    """Clear this process's caches of texts, entities and triples."""
    from tracking import clear_caches

    import koala.bulk.local
    import koala.text.nlp
    from koala.knowledge.store import Store

    clear_caches(koala.text.nlp)
    clear_caches(Store.open_cached())
    if koala.bulk.local._trackers is not None:
        for tracker in koala.bulk.local._trackers._opened.values():
            clear_caches(tracker.scorer.network._triples)


def measure_floor(source: Path, args: argparse.Namespace, _: Path) -> dict[str, object]:
    """Measure chunks in workers, procedures one by one, and the encoder passes alone, alternating.

    All use the same number of threads. Workers are started beforehand, and caches are cleared
    between rounds.
    """
    from tracking import clear_caches, open_encoder_layers

    from koala.bulk.local import CHUNK, Plan, _Pool
    from koala.bulk.records import Limits, parse_record, read_records
    from koala.discovery.add import add_entities
    from koala.encoders import open_encoder
    from koala.inference.scoring import BATCH_SIZE as SIZE
    from koala.inputs.examples import split_items
    from koala.registry import load

    records = list(itertools.islice(read_records([source]), args.n))
    limits = Limits()
    chunks = [records[start : start + CHUNK] for start in range(0, len(records), CHUNK)]

    pool = _Pool("small", Plan(args.threads))
    # The pool starts its workers only when there is work for all of them.
    warm_up = [pool.submit(chunks[0][:2]) for _ in range(4 * args.threads)]

    def run_chunks() -> None:
        # The pool is reused, because starting one takes time; its caches are cleared instead.
        for future in [pool._executor.submit(forget) for _ in range(8 * args.threads)]:
            future.result()
        for future in [pool.submit(chunk) for chunk in chunks]:
            future.result()

    single = load(n_threads=args.threads)

    def run_singly() -> None:
        forget()
        clear_caches(single.scorer.network._triples)
        for record in records:
            value = json.loads(record.raw)
            single.track(value.get("text") or value["steps"], value.get("entities"))

    # The encoder passes of a run: each text in the batches of its chunk; each distinct triple once;
    # and texts without entities once more, by the encoder of entity discovery.
    tracker = single
    settings = tracker.settings
    feeds, triples, words = [], {}, []
    for chunk in chunks:
        procedures = [parse_record(record, limits).procedure for record in chunk]
        without = [p for p in procedures if not p.entities]
        found = iter(add_entities(without, n_threads=1))
        procedures = [p if p.entities else next(found) for p in procedures]
        items = tracker._build_items([p for p in procedures if p.entities], None)
        ready = {item.procedure.id: item.procedure for item in items}
        words += [
            [word.text for step in ready[p.id].steps for word in step.words]
            for p in without if p.id in ready
        ]  # fmt: skip
        for group in split_items(items, SIZE):
            batch = tracker.scorer.batcher.build(group)
            feeds.append({"subwords": batch.subwords, "mask": batch.subwords_mask})
            for row, mask in zip(batch.triple_subwords, batch.triple_input_mask, strict=True):
                triples[row[mask].tobytes()] = row[mask]
    text_layers = open_encoder_layers(settings.encoder.name, None, n_threads=args.threads)
    n_layers = settings.encoder.n_frozen_layers
    triple_layers = open_encoder_layers(settings.encoder.name, n_layers, n_threads=args.threads)
    by_length: dict[int, list] = {}
    for row in triples.values():
        by_length.setdefault(len(row), []).append(row)
    finder = open_encoder(threads=args.threads)

    def run_encoders() -> None:
        import numpy as np

        for feed in feeds:
            text_layers.run(None, feed)
        for rows in by_length.values():
            for start in range(0, len(rows), 32):
                table = np.stack(rows[start : start + 32])
                triple_layers.run(None, {"subwords": table, "mask": table >= 0})
        for text in words:
            finder.encode([text])

    works = {"chunks": run_chunks, "one by one": run_singly, "encoders": run_encoders}
    times: dict[str, list[float]] = {name: [] for name in works}
    for future in warm_up:
        future.result()
    for work in works.values():
        work()
    for _round in range(args.rounds):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - start)
    pool.close()
    best = {name: statistics.median(values) for name, values in times.items()}
    return {
        "procedures": len(records),
        "threads": args.threads,
        "distinct_triples": len(triples),
        "seconds": {name: round(value, 2) for name, value in best.items()},
        "per_second": {name: round(len(records) / value, 2) for name, value in best.items()},
        "one_by_one_over_chunks": round(best["one by one"] / best["chunks"], 2),
        "chunks_over_encoders": round(best["chunks"] / best["encoders"], 2),
        "is_right": True,
    }


def measure_kills(source: Path, args: argparse.Namespace, folder: Path) -> dict[str, object]:
    source = cut(source, args.n, folder)
    whole, killed = folder / "whole.jsonl", folder / "killed.jsonl"
    seconds = run_batch(source, whole, "--workers", "2")
    rng, kills, positions = random.Random(args.seed), 0, []
    journal = killed.with_name(f"{killed.name}.journal")
    while kills < args.kills:
        resume = ["--resume"] if journal.exists() else []
        command = [*KOALA, "batch", source, "-o", killed, "--workers", "2", *resume]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
        # Random delays, so that kills hit both the start of a run and its work.
        time.sleep(rng.uniform(0.5, args.longest))
        if process.poll() is not None:
            break
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
        done = json.loads(journal.read_text())["position"]["n_records"] if journal.exists() else 0
        positions.append(done)
        print(f"kill {kills}: {done} records are safe", file=sys.stderr)
    if not killed.exists():
        run_batch(source, killed, "--workers", "2", *(["--resume"] if journal.exists() else []))
    same = killed.read_bytes() == whole.read_bytes()
    return {
        "procedures": args.n, "kills": kills, "records_safe_at_each_kill": positions,
        "seconds_uninterrupted": round(seconds, 1), "same_bytes": same,
        "leftovers": sorted(p.name for p in folder.glob("killed.jsonl.*")),
        "is_right": same and kills == args.kills,
    }  # fmt: skip


def measure_broken(source: Path, _: argparse.Namespace, folder: Path) -> dict[str, object]:
    output = folder / "grids.jsonl"
    seconds = run_batch(source, output, "--workers", "2")
    good = {}
    for number, line in enumerate(source.open("rb"), 1):
        # Only the good lines of `sample_procedures.py` have such an id.
        if line.startswith(b'{"id": "sampled-'):
            good[number] = json.loads(line)
    n = number
    grids = [json.loads(line) for line in output.open()]
    errors = [json.loads(line) for line in output.with_name("grids.jsonl.errors").open()]
    expected = [record["id"] for record in good.values()]
    bad = sorted({*range(1, n + 1)} - good.keys())
    return {
        "records": n,
        "broken": len(bad),
        "tracked": len(grids),
        "reported": len(errors),
        "seconds": round(seconds, 1),
        "reasons": sorted({error["reason"][:80] for error in errors}),
        "is_right": [g["id"] for g in grids] == expected and [e["line"] for e in errors] == bad
        and all(g["source"] == r["source"] for g, r in zip(grids, good.values(), strict=True)),
    }  # fmt: skip


def measure_ray(source: Path, args: argparse.Namespace, folder: Path) -> dict[str, object]:
    source = cut(source, args.n, folder)
    outputs = {name: folder / f"{name}.jsonl" for name in ("local", "ray", "killed")}
    seconds = {
        name: run_batch(source, outputs[name], "--workers", "2", "--engine", name)
        for name in ("local", "ray")
    }
    command = [*KOALA, "batch", source, "-o", outputs["killed"], "--workers", "2"]
    process = subprocess.Popen([*command, "--engine", "ray"], stderr=subprocess.DEVNULL)
    journal = folder / "killed.jsonl.journal"
    while not journal.exists() and process.poll() is None:
        time.sleep(0.2)
    actors = find_actors()
    for pid in actors[:1]:
        os.kill(pid, signal.SIGKILL)
    process.wait()
    expected = outputs["local"].read_bytes()
    same = {name: outputs[name].exists() and outputs[name].read_bytes() == expected
            for name in ("ray", "killed")}  # fmt: skip
    return {
        "procedures": args.n,
        "seconds": {name: round(value, 1) for name, value in seconds.items()},
        "ray_over_local": round(seconds["ray"] / seconds["local"], 2),
        "actors_seen": len(actors),
        "same_bytes": same,
        "is_right": all(same.values()) and bool(actors),
    }


def find_actors() -> list[int]:
    """Find the processes of Ray's actors by their titles."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            title = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if title.startswith("ray::") and "MapWorker" in title:
            found.append(int(path.parent.name))
    return found


def measure_driver(source: Path, args: argparse.Namespace, folder: Path) -> dict[str, object]:
    """Measure everything but tracking: chunks are read and sent, and earlier results written."""
    from koala.bulk.chunk import track_records
    from koala.bulk.local import CHUNK, Done, run_job
    from koala.bulk.ray import open_cluster
    from koala.bulk.records import Limits, read_records
    from koala.registry import Trackers, load

    source = cut(source, args.n, folder)
    limits = Limits()
    some = list(itertools.islice(read_records([source]), 10 * CHUNK))
    trackers = Trackers.single(load(n_threads=1))
    seconds, lines = [], []
    for start in range(0, len(some), CHUNK):
        begin = time.perf_counter()
        lines.append(track_records(trackers, some[start : start + CHUNK], limits))
        seconds.append(time.perf_counter() - begin)

    def engine(chunks, **_):
        for number, chunk in enumerate(chunks):
            yield Done(len(chunk), chunk[-1].end, lines[number % len(lines)])

    def progress(_done: int, _total: int, _n: int) -> None:
        pass

    options = {"model": "small", "resume": False, "progress": progress}
    begin = time.perf_counter()
    run_job(engine, [source], folder / "driver.jsonl", **options)
    n_chunks = -(-args.n // CHUNK)
    writing = (time.perf_counter() - begin) / n_chunks
    chunk, back = some[:CHUNK], lines[0]
    took = []
    with open_cluster(n_workers=2) as cluster:
        for n_tasks in (100, 1100):
            begin = time.perf_counter()
            list(cluster.map(lambda: lambda _: back, [chunk] * n_tasks))
            took.append(time.perf_counter() - begin)
    # Starting actors costs the same for both.
    sending = (took[1] - took[0]) / 1000
    return {
        "chunks": n_chunks,
        "seconds_to_track_a_chunk": round(statistics.mean(seconds[1:]), 2),
        "spread": round(statistics.stdev(seconds[1:]) / statistics.mean(seconds[1:]), 2),
        "driver_seconds_a_chunk": {
            "reading and writing": round(writing, 5),
            "Ray, an empty task": round(sending, 5),
        },
        "is_right": True,
    }


def draw_memory(source: Path, args: argparse.Namespace, _: Path) -> dict[str, object]:
    """Plot the memory over time from a report of `workers`."""
    from matplotlib.figure import Figure

    report = json.loads(source.read_text())
    figure = Figure(figsize=(7, 3), layout="constrained")
    axes = figure.subplots()
    for workers in (1, 2):
        trace = report[f"{workers} workers"]["trace"]
        label = f"{workers} worker{'s' if workers > 1 else ''}"
        axes.plot([when / 60 for when, _ in trace], [value for _, value in trace], label=label)
    axes.set(xlabel="minutes", ylabel="MB, all processes", ylim=(0, None))
    axes.legend(frameon=False)
    figure.savefig(args.output, metadata={"Date": None})
    return {"plot": str(args.output), "is_right": True}


PARTS = {
    "workers": measure_workers, "floor": measure_floor, "kills": measure_kills,
    "broken": measure_broken, "ray": measure_ray, "driver": measure_driver,
    "plot": draw_memory,
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("source", type=Path)
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--longest", type=float, default=15.0, help="most seconds before a kill")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("results/many-memory.svg"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = PARTS[args.part](args.source, args, Path(folder))
    print(json.dumps(report, indent=2))
    return 0 if report["is_right"] else 1


if __name__ == "__main__":
    sys.exit(main())
