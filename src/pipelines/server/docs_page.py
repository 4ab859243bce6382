"""/docs: the OpenAPI document as one plain page. It loads no scripts, so it works offline."""

import json
import re
from html import escape
from typing import Any

METHODS = ("get", "post", "put", "delete")
STYLE = """
:root { color-scheme: light dark; --line: light-dark(#d5dbe3, #384252); --soft: light-dark(#f4f6f9, #1b222c);
  --get: light-dark(#0a6b3d, #5fd39b); --post: light-dark(#0b57a4, #7db8f5);
  --put: light-dark(#8a5300, #f0b35c); --delete: light-dark(#a3212c, #f58a92); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; text-transform: capitalize; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; }
summary { cursor: pointer; padding: .45rem .8rem; display: flex; gap: .8rem; flex-wrap: wrap; }
summary code { font-weight: 600; }
.method { display: inline-block; width: 4rem; font: 700 .85rem/1.8 ui-monospace, monospace; }
.get { color: var(--get); } .post { color: var(--post); }
.put { color: var(--put); } .delete { color: var(--delete); }
.about { opacity: .8; }
.body { padding: 0 .8rem .8rem; border-top: 1px solid var(--line); }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .25rem .6rem .25rem 0;
  vertical-align: top; border-bottom: 1px solid var(--line); }
pre { background: var(--soft); padding: .7rem; border-radius: 6px; overflow-x: auto; font-size: .85rem; }
"""


def render(document: dict[str, Any]) -> str:
    info = document["info"]
    sections: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method in METHODS:
            if method in operations:
                operation = operations[method]
                tag = (operation.get("tags") or ["other"])[0]
                sections.setdefault(tag, []).append(_operation(method, path, operation))
    body = "".join(
        f"<h2>{escape(tag)}</h2>{''.join(sections_html)}" for tag, sections_html in sections.items()
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<title>{escape(info['title'])} API</title><style>{STYLE}</style>"
        f"<h1>{escape(info['title'])} API {escape(info['version'])}</h1>"
        f"<p>{escape(info.get('description', ''))} Send your API key as "
        "<code>Authorization: Bearer pk_live_…</code> or <code>X-API-Key</code>. Errors are "
        "<code>{&quot;error&quot;: {code, message, details?}}</code>. "
        "The OpenAPI document: <a href=/openapi.json>openapi.json</a>.</p>"
        f"<main>{body}</main></html>"
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    about = str(operation.get("description") or operation.get("summary") or "")
    parts = [f"<p>{_prose(about)}</p>" if about else "", _parameters(operation.get("parameters", []))]
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        schema = json.dumps(content.get("schema", {}), indent=2, ensure_ascii=False)
        parts.append(f"<p>Body, <code>{escape(kind)}</code></p><pre>{escape(schema)}</pre>")
    statuses = "".join(
        f"<tr><td>{escape(status)}<td>{escape(response.get('description', ''))}"
        for status, response in operation.get("responses", {}).items()
    )
    parts.append(f"<table><tr><th>Status<th>When{statuses}</table>")
    first_line = about.strip().splitlines()[0] if about.strip() else ""
    return (
        f"<details><summary><span class='method {method}'>{method.upper()}</span><code>{escape(path)}</code>"
        f"<span class=about>{_prose(first_line)}</span></summary>"
        f"<div class=body>{''.join(parts)}</div></details>"
    )


def _parameters(parameters: list[dict[str, Any]]) -> str:
    if not parameters:
        return ""
    rows = "".join(
        f"<tr><td><code>{escape(one['name'])}</code><td>{escape(one['in'])}"
        f"{', required' if one.get('required') else ''}<td>{escape(one.get('description', ''))}"
        for one in parameters
    )
    return f"<table><tr><th>Parameter<th>Where<th>What{rows}</table>"


def _prose(text: str) -> str:
    """Escapes a text and sets parts in backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
