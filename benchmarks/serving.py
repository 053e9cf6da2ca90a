"""Load test of the server with many clients and a kill under load, compared with a bare tracker.

    python benchmarks/serving.py [--requests 2000] [--clients 16] [--waiting 16]

Clients send the bundled examples over persistent connections on loopback, each the next one as soon
as it has a response. They do not wait before they try again, so some get 429 if there are more
clients than queue slots. Every grid is compared with that of a bare tracker in this process, which
tracks the same texts one after the other. Memory is the resident set of the server (Linux).
"""

import argparse
import http.client
import json
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from itertools import count
from pathlib import Path

import koala
from koala.bundled.examples import list_examples, read_example

WARM_UP = 48
DOCUMENTS = [
    {"id": name, "steps": list(grid.steps), "entities": list(grid.names), "model": "small"}
    for name, grid in ((name, read_example(name)) for name in list_examples())
]


class Server:
    def __init__(self, waiting, port=0):
        command = [sys.executable, "-m", "koala", "serve", "--port", str(port)]
        start = time.perf_counter()
        self.process = subprocess.Popen(
            [*command, "--waiting", str(waiting)], stderr=subprocess.PIPE, text=True
        )
        line = self.process.stderr.readline()
        self.seconds = time.perf_counter() - start
        self.port = int(re.search(r"127\.0\.0\.1:(\d+)", line)[1])

    def megabytes(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def end(self, number):
        self.process.send_signal(number)
        self.process.wait()
        self.process.stderr.close()


class Load:
    """Clients that share a number of requests."""

    def __init__(self, port, n_requests, n_clients, expected):
        self.port, self.n_requests, self.expected = port, n_requests, expected
        self.numbers = count()
        self.statuses, self.seconds, self.n_wrong = Counter(), [], 0
        self.threads = [threading.Thread(target=self.run) for _ in range(n_clients)]

    def start(self):
        self.began = time.perf_counter()
        for thread in self.threads:
            thread.start()
        return self

    def join(self):
        for thread in self.threads:
            thread.join()
        self.total = time.perf_counter() - self.began
        return self

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        for number in self.numbers:
            if number >= self.n_requests:
                break
            document = DOCUMENTS[number % len(DOCUMENTS)]
            start = time.perf_counter()
            try:
                status, grid = track(connection, document)
            except (OSError, http.client.HTTPException):
                connection.close()
                self.statuses["no answer"] += 1
                continue
            self.statuses[status] += 1
            if status == 200:
                self.seconds.append(time.perf_counter() - start)
                self.n_wrong += locations_of(grid) != self.expected[document["id"]]
        connection.close()

    def report(self):
        return {
            "answers": {str(status): n for status, n in sorted(self.statuses.items(), key=str)},
            "wrong grids": self.n_wrong,
            "grids per second": round(self.statuses[200] / self.total, 2),
            "answers per second": round(self.statuses.total() / self.total, 2),
            **percentiles(self.seconds),
        }


def track(connection, document):
    body = json.dumps(document)
    connection.request("POST", "/api/track", body, {"content-type": "application/json"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def locations_of(grid):
    return [
        [entity["initial"], *(step["after"] for step in entity["steps"])]
        for entity in grid["entities"]
    ]


def percentiles(seconds):
    if len(seconds) < 2:
        return {}
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    wanted = {"p50": cuts[49], "p90": cuts[89], "p99": cuts[98], "max": max(seconds)}
    return {"milliseconds": {name: round(1000 * value, 1) for name, value in wanted.items()}}


def measure_bare(n_requests):
    tracker = koala.load()
    expected = {}
    seconds = []
    for number in range(len(DOCUMENTS) + n_requests):
        document = DOCUMENTS[number % len(DOCUMENTS)]
        start = time.perf_counter()
        grid = tracker.track(document["steps"], document["entities"], id=document["id"])
        # The first round fills the caches and is not measured.
        if number >= len(DOCUMENTS):
            seconds.append(time.perf_counter() - start)
        expected[document["id"]] = locations_of(grid.to_dict())
    return expected, {"grids per second": round(n_requests / sum(seconds), 2)} | percentiles(
        seconds
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--waiting", type=int, default=16, help="queue slots of the server")
    arguments = parser.parse_args()
    expected, bare = measure_bare(min(arguments.requests, 200))

    def load(server, n_requests):
        return Load(server.port, n_requests, arguments.clients, expected).start()

    server = Server(arguments.waiting)
    report = {"bare tracker": bare, "seconds to start": round(server.seconds, 2)}
    load(server, min(WARM_UP, arguments.requests)).join()
    before = server.megabytes()
    report["server"] = load(server, arguments.requests).join().report()
    after = server.megabytes()
    report["megabytes"] = {
        "before": round(before, 1),
        "after": round(after, 1),
        "growth": f"{after / before - 1:+.1%}",
    }

    interrupted = load(server, arguments.requests)
    while interrupted.statuses[200] < arguments.clients:
        time.sleep(0.01)
    server.end(signal.SIGKILL)
    killed = interrupted.join().report()["answers"]
    again = Server(arguments.waiting, server.port)
    after_kill = load(again, len(DOCUMENTS) * 2).join()
    again.end(signal.SIGINT)
    report["killed under load"] = {
        "answers": killed,
        "seconds to start again": round(again.seconds, 2),
        "answers after": after_kill.report()["answers"],
        "wrong grids after": after_kill.n_wrong,
    }
    print(json.dumps(report, indent=2))
    is_fine = set(report["server"]["answers"]) <= {"200", "429", "503"}
    sys.exit(0 if is_fine and after <= 1.2 * before else 1)


if __name__ == "__main__":
    main()
