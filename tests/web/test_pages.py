"""Static files and headers; test_browser.py tests the behaviour of the page."""

import re
from html.parser import HTMLParser

import pytest

from koala.web.headers import POLICY
from koala.web.pages import read_files, read_swagger_files

PAGES = ("/", "/docs")


class Elements(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.elements = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))


def elements_of(page):
    return Elements(page).elements


def test_the_policy_allows_only_own_files():
    assert POLICY.split("; ") == [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]


@pytest.mark.parametrize("path", [*PAGES, "/openapi.json", "/static/app.js", "/api/health"])
def test_every_response_has_the_security_headers(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", PAGES)
def test_pages_load_only_own_files_and_have_nothing_inline(client, path):
    page = client.get(path).text
    assert page.lower().startswith("<!doctype html>")
    assert client.head(path).status_code == 200
    for tag, attributes in elements_of(page):
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        assert tag != "style"
        for name in ("src", "href"):
            target = attributes.get(name, "")
            if target.startswith("/"):
                assert client.get(target).status_code == 200
            else:
                assert target == "" or target.startswith("#")
        if tag == "script":
            assert attributes["src"].startswith("/static/")


def test_no_file_refers_to_another_host_or_parses_text_as_markup():
    for name, (content, _) in read_files().items():
        text = content.decode()
        hosts = set(re.findall(r"https?://[^\s\"')]+", text))
        assert hosts <= {"http://www.w3.org/2000/svg"}, name  # a namespace, never loaded
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", text), (
            name
        )


def test_scripts_import_only_existing_files():
    for name, (content, _) in read_files().items():
        for target in re.findall(r'from "\./([^"]+)"', content.decode()):
            assert target in read_files(), name


def test_colors_are_those_of_the_exported_page():
    palette = read_files()["grid.css"][0].decode()
    css = read_files()["app.css"][0].decode()
    assert not re.search(r":[^;{}]*#[0-9a-f]{3,8}\b|rgb|hsl", css)
    used = set(re.findall(r"var\(--([\w-]+)\)", css)) - {"share", "span"}
    assert used <= set(re.findall(r"--([\w-]+):", palette))


def test_swagger_ui_is_served_from_here(client):
    for name in ("swagger-ui-bundle.js", "swagger-ui.css"):
        answer = client.get(f"/static/{name}")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == read_swagger_files()[name][1]
    assert client.get("/static/redoc.standalone.js").status_code == 404
