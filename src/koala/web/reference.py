"""HTML reference of the API, rendered from its OpenAPI description.

FastAPI's own pages are not used: they need inline scripts, which the content security policy
forbids, and more than a megabyte of scripts.
"""

import json
import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

Schema = Mapping[str, Any]


def render_reference(api: Schema) -> str:
    """Render an OpenAPI description as HTML."""
    schemas = api.get("components", {}).get("schemas", {})
    routes = [
        _render_route(method, path, route)
        for path, methods in api["paths"].items()
        for method, route in methods.items()
    ]
    types = [_render_schema(name, schema) for name, schema in schemas.items()]
    info = api["info"]
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(info["title"])} HTTP API</title>
<link rel="icon" href="/static/icon.svg">
<link rel="stylesheet" href="/static/grid.css">
<link rel="stylesheet" href="/static/app.css">
</head>
<body>
<main class="reference">
<h1>{escape(info["title"])} HTTP API <span class="quiet">{escape(info["version"])}</span></h1>
<p>{_text(info["description"])}</p>
<p><a href="/">Web page</a> · <a href="/openapi.json">OpenAPI description</a></p>
{_lines(routes)}
<section><h2>Types</h2>
{_lines(types)}
</section>
</main>
</body>
</html>
"""


def _text(text: str) -> str:
    """Escape a description; text between backticks becomes code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def _lines(parts: Iterable[str]) -> str:
    return "\n".join(part for part in parts if part)


def _render_route(method: str, path: str, route: Schema) -> str:
    body = route.get("requestBody", {}).get("content", {}).get("application/json", {})
    fields = [
        (parameter["name"], parameter["schema"], parameter.get("required", False))
        for parameter in route.get("parameters", [])
    ]
    responses = [
        f"<li><b>{escape(status)}</b> {_text(response['description'])}"
        f"{''.join(_render_content(response))}</li>"
        for status, response in sorted(route["responses"].items())
    ]
    parts = [
        f"<section><h2><code>{escape(method.upper())} {escape(path)}</code></h2>",
        f"<p>{_text(route['description'])}</p>",
        _render_fields(fields) if fields else "",
        f"<p>Body: {_name(body['schema'])}</p>" if body else "",
        "<ul>",
        *responses,
        "</ul></section>",
    ]
    return _lines(parts)


def _render_content(response: Schema) -> list[str]:
    """Name the content of a response: a schema, or a content type."""
    return [
        f" — {_name(content['schema'])}"
        if content.get("schema")
        else f" <code>{escape(kind)}</code>"
        for kind, content in response.get("content", {}).items()
    ]


def _render_schema(name: str, schema: Schema) -> str:
    required = schema.get("required", [])
    properties = schema.get("properties", {})
    fields = [(key, value, key in required) for key, value in properties.items()]
    examples = [
        f"<pre><code>{escape(json.dumps(value, indent=2, ensure_ascii=False))}</code></pre>"
        for value in schema.get("examples", [])
    ]
    parts = [
        f'<h3 id="{escape(name)}">{escape(name)}</h3>',
        f"<p>{_text(schema.get('description', ''))}</p>",
        _render_fields(fields) if fields else f"<p>{_name(schema)}</p>",
        *examples,
    ]
    return _lines(parts)


def _render_fields(fields: Iterable[tuple[str, Schema, bool]]) -> str:
    items = [
        f"<dt><code>{escape(name)}</code> {_name(schema)}{'' if required else ', optional'}</dt>"
        f"<dd>{_text(schema.get('description', ''))}</dd>"
        for name, schema, required in fields
    ]
    return _lines(['<dl class="fields">', *items, "</dl>"])


def _name(schema: Schema) -> str:
    """Name a type as HTML, with links to the schemas on the page."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#{escape(name)}">{escape(name)}</a>'
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(_name(each) for each in schema[key])
    if "enum" in schema:
        return " | ".join(f"<code>{escape(str(value))}</code>" for value in schema["enum"])
    if "const" in schema:
        return f"<code>{escape(str(schema['const']))}</code>"
    kind = escape(str(schema.get("type", "anything")))
    if "items" in schema:
        return f"list of {_name(schema['items'])}"
    if "prefixItems" in schema:
        return f"list ({', '.join(_name(each) for each in schema['prefixItems'])})"
    if isinstance(schema.get("additionalProperties"), Mapping):
        return f"object of {_name(schema['additionalProperties'])}"
    return kind
