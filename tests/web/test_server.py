"""The real server in a separate process, with the bundled models."""

import http.client
import json
import signal
import socket
from urllib.parse import urlsplit

import pytest

from koala.errors import KoalaError
from koala.web.server import is_local, open_socket, url_of

from .conftest import Process

TEXT = "Roots absorb water from the soil.\nThe water flows to the leaf.\nThe leaf makes sugar."


def ask(url, path, value=None, body=None):
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=120)
    body = json.dumps(value).encode() if value is not None else body
    method = "GET" if body is None else "POST"
    try:
        connection.request(method, path, body, {"content-type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_the_bundled_model_tracks_and_explains(served):
    value = {"id": "leaf", "text": TEXT, "entities": ["water", "sugar"]}
    status, grid = ask(served.url, "/api/track", value)
    assert status == 200
    assert grid["steps"] == TEXT.split("\n")
    assert grid["entities"][1]["steps"][2]["action"] == "CREATE"
    assert grid["signature"] == ask(served.url, "/api/health")[1]["model"]
    _, (explained,) = ask(served.url, "/api/track", [{**value, "explain": True}])
    for entity in explained["entities"]:
        for step in entity["steps"]:
            assert sum(step["reason"]["actions"].values()) == pytest.approx(1, abs=1e-3)
            assert all(0 <= p <= 1 for p in step["reason"]["locations"].values())
    first = explained["entities"][0]["steps"][0]["reason"]
    assert [TEXT[start:end] for start, end in first["mentions"]] == ["water"]


def test_entities_are_found_deterministically(served):
    answers = [ask(served.url, "/api/track", {"text": TEXT}) for _ in range(2)]
    assert answers[0] == answers[1]
    status, grid = answers[0]
    assert status == 200
    assert "water" in [entity["name"] for entity in grid["entities"]]


def test_a_recipe_is_tracked_by_the_recipes_model(served):
    steps = ["Beat the eggs with sugar in a bowl.", "Bake in the oven."]
    value = {"steps": steps, "entities": ["eggs"]}
    answers = [ask(served.url, "/api/track", {**value, "model": m})[1] for m in ("auto", "small")]
    models = ask(served.url, "/api/health")[1]["models"]
    assert [model["name"] for model in models] == ["small", "recipes"]
    assert [grid["signature"] for grid in answers] == [m["signature"] for m in models][::-1]


def test_a_body_that_is_too_large_gets_413_over_a_real_connection(served):
    status, value = ask(served.url, "/api/track", body=b"x" * 3_000_000)
    assert (status, value["error"]["code"]) == (413, "body_too_large")


def test_a_killed_server_can_restart_on_its_port_and_ends_on_ctrl_c():
    first = Process()
    port = urlsplit(first.url).port
    body = json.dumps({"text": TEXT, "entities": ["water"]}).encode()
    head = [
        "POST /api/track HTTP/1.1", "Host: localhost", "Content-Type: application/json",
        f"Content-Length: {len(body)}", "", "",
    ]  # fmt: skip
    with socket.create_connection(("127.0.0.1", port)) as waiting:
        waiting.sendall("\r\n".join(head).encode() + body)
        assert first.end(signal.SIGKILL) == -signal.SIGKILL
    again = Process(port)
    try:
        assert again.url == first.url
        assert ask(again.url, "/api/health")[1]["status"] == "ok"
    finally:
        assert again.end(signal.SIGINT) == 0


def test_a_port_in_use_is_refused():
    with open_socket("127.0.0.1", 0) as opened:
        port = opened.getsockname()[1]
        with pytest.raises(KoalaError, match=f"Cannot listen on 127.0.0.1 port {port}"):
            open_socket("127.0.0.1", port)


@pytest.mark.parametrize(
    ("host", "port", "message"),
    [
        ("no.such.host.invalid", 0, "Cannot listen"),
        ("127.0.0.1", 99999, "does not exist"),
        ("127.0.0.1", -1, "does not exist"),
    ],
)
def test_unknown_hosts_and_ports_are_refused(host, port, message):
    with pytest.raises(KoalaError, match=message):
        open_socket(host, port)


@pytest.mark.parametrize(("host", "local"), [("127.0.0.1", True), ("0.0.0.0", False)])
def test_is_local_tells_loopback_from_public_addresses(host, local):
    with open_socket(host, 0) as opened:
        assert is_local(opened) == local
        assert url_of(opened) == f"http://{host}:{opened.getsockname()[1]}"
