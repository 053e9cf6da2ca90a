"""Simulation of a cluster: time to track a corpus on many machines, from measured chunk times.

    python benchmarks/simulate.py --chunk-seconds 3.6 --spread 0.15 --driver-seconds 0.004

Free actors take the next chunk, and one driver writes the results in order, as in
`koala batch --engine ray`: a slow chunk delays the writing of later ones, but not their tracking.
After `--window` chunks per actor, all wait for the last one, and the actors are started again. An
actor needs `--start-seconds` to open the model when it starts, and again after its machine has
failed, which also loses its current chunk. Chunk times are log-normal with the measured mean and
spread (standard deviation over mean); a share of the actors is slow and takes twice as long.
"""

import argparse
import heapq
import json
import math
import random
from dataclasses import dataclass

CHUNK = 32


@dataclass(frozen=True)
class Cluster:
    machines: int
    cores: int
    chunk_seconds: float
    spread: float
    driver_seconds: float
    start_seconds: float
    slow_share: float
    machine_hours: float
    """Mean time between two failures of one machine."""
    window: int


def simulate(cluster: Cluster, n_chunks: int, seed: int) -> dict[str, float]:
    """Simulate one run; give its hours, and the utilisation of cores and driver."""
    rng = random.Random(seed)
    n_actors = cluster.machines * cluster.cores
    sigma = math.sqrt(math.log(1 + cluster.spread**2))
    mu = math.log(cluster.chunk_seconds) - sigma**2 / 2
    slowness = [2.0 if rng.random() < cluster.slow_share else 1.0 for _ in range(n_actors)]
    driver, busy, n_lost = 0.0, 0.0, 0
    for start in range(0, n_chunks, cluster.window * n_actors):
        free = [(driver + cluster.start_seconds, actor) for actor in range(n_actors)]
        for _ in range(min(cluster.window * n_actors, n_chunks - start)):
            now, actor = heapq.heappop(free)
            seconds = rng.lognormvariate(mu, sigma) * slowness[actor]
            if rng.random() < seconds / (cluster.machine_hours * 3600):
                n_lost += 1
                now += rng.random() * seconds + cluster.start_seconds
            now += seconds
            busy += seconds
            heapq.heappush(free, (now, actor))
            # Chunks are written in order, so not before the previous one.
            driver = max(driver, now) + cluster.driver_seconds
    return {
        "hours": driver / 3600,
        "cores_busy": busy / (driver * n_actors),
        "driver_busy": n_chunks * cluster.driver_seconds / driver,
        "chunks_lost": n_lost,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--procedures", type=int, default=10_000_000)
    parser.add_argument("--machines", type=int, nargs="+", default=[1, 10, 50, 100, 200, 400])
    parser.add_argument("--cores", type=int, default=8)
    parser.add_argument(
        "--chunk-seconds", type=float, required=True, help="mean time to track a chunk, measured"
    )
    parser.add_argument(
        "--spread", type=float, required=True, help="relative spread of that time, measured"
    )
    parser.add_argument(
        "--driver-seconds", type=float, required=True, help="driver time per chunk, measured"
    )
    parser.add_argument("--start-seconds", type=float, default=5.0)
    parser.add_argument("--slow-share", type=float, default=0.05)
    parser.add_argument("--machine-hours", type=float, default=200.0)
    parser.add_argument("--window", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    n_chunks = math.ceil(args.procedures / CHUNK)
    rows = []
    for machines in args.machines:
        cluster = Cluster(
            machines, args.cores, args.chunk_seconds, args.spread, args.driver_seconds,
            args.start_seconds, args.slow_share, args.machine_hours, args.window,
        )  # fmt: skip
        found = simulate(cluster, n_chunks, args.seed)
        rows.append({"machines": machines, **{k: round(v, 3) for k, v in found.items()}})
    print(json.dumps({"chunks": n_chunks, "settings": vars(args), "rows": rows}, indent=2))


if __name__ == "__main__":
    main()
