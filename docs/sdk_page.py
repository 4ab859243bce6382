"""Makes docs/reference/sdk.md from the docstrings of the SDK; a test holds the page against them.

python docs/sdk_page.py > docs/reference/sdk.md
"""

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any

from pipelines import odyssey
from pipelines.odyssey import agents, recorded_state, recording, retry, testing, tool_endpoints, tools

INTRO = """# The SDK: `pipelines.odyssey`
Made from the docstrings by `python docs/sdk_page.py > docs/reference/sdk.md`; do not edit it here.

For agents under test, in Python. It needs the standard library only. To have it without installing anything,
copy `pipelines/__init__.py`, `pipelines/wire` and `pipelines/odyssey` into your project, at its root or in
another package. How to port an agent: [../howto/port-an-agent.md](../howto/port-an-agent.md); how to test one
without a server: [../howto/unit-tests.md](../howto/unit-tests.md).
"""
#: Title, where the names are imported from, the names.
SECTIONS: tuple[tuple[str, Any, tuple[str, ...]], ...] = (
    (
        "Taking dispatches",
        odyssey,
        ("register_dispatch_route", "dispatch_asgi", "dispatch_wsgi", "Envelope", "BadEnvelope"),
    ),
    (
        "Calling tools",
        odyssey,
        ("proxy_call", "async_proxy_call", "proxy_call_with", "async_proxy_call_with"),
    ),
    ("Functions as tools", tools, ("proxied", "tools_schema")),
    ("Recording your own tools", recording, ("Recording", "record")),
    ("The state of a recorded backend", recorded_state, ("object_state", "sqlite_state", "sqlalchemy_state")),
    (
        "Whose call it is",
        odyssey,
        ("set_current", "current", "current_or_none", "run_async_in_thread"),
    ),
    (
        "Reporting",
        odyssey,
        (
            "post_trace_event",
            "async_post_trace_event",
            "try_post_trace_event",
            "async_try_post_trace_event",
            "post_handoff",
            "async_post_handoff",
        ),
    ),
    (
        "What can go wrong",
        odyssey,
        ("CallFailed", "ToolFailed", "ProxyUnavailable", "ProxyRefused", "NoCurrentEnvelope", "ApiFailed"),
    ),
    ("When a call is tried again", retry, ("wait_before_next", "Attempt")),
    (
        "Registering agents",
        agents,
        ("create_http_agent", "create_or_update_http_agent", "create_code_agent", "find_agent"),
    ),
    (
        "Tool endpoints",
        tool_endpoints,
        ("create_code", "CannotShip", "create_openapi", "create_mcp", "discover", "call"),
    ),
    ("In a unit test", testing, ("odyssey_run", "InProcessRun", "BadTask")),
)


def page() -> str:
    parts = [INTRO]
    for title, module, names in SECTIONS:
        parts.append(f"## {title}\n`from {module.__name__} import {', '.join(names)}`\n")
        for name in names:
            parts.extend(described(name, getattr(module, name)))
    return "\n".join(parts)


def described(name: str, thing: Any) -> Iterator[str]:
    if not inspect.isclass(thing):
        yield f"### `{name}{signature(thing)}`\n{prose(thing)}"
        return
    base = thing.__bases__[0]
    kind = f" (is a `{base.__name__}`)" if issubclass(thing, Exception) and base is not Exception else ""
    yield f"### `{name}`{kind}\n{prose(thing)}"
    fields = list(fields_of(thing))
    if fields:
        yield "\n".join(fields) + "\n"
    for member_name, member in vars(thing).items():
        if not member_name.startswith("_") and is_documented(member):
            plain = member.__func__ if isinstance(member, classmethod) else member
            shown = "" if isinstance(plain, property) else signature(plain)
            yield f"#### `{name}.{member_name}{shown}`\n{prose(plain)}"


def is_documented(member: Any) -> bool:
    is_callable = inspect.isfunction(member) or isinstance(member, (property, classmethod))
    return is_callable and bool(inspect.getdoc(member))


def signature(function: Any) -> str:
    """Names and defaults; the types are in the source and in every editor."""
    whole = inspect.signature(function)
    shown = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in whole.parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    return str(whole.replace(parameters=shown, return_annotation=inspect.Signature.empty))


def fields_of(thing: type) -> Iterator[str]:
    """`#:` remarks of a class: each stands above what it is about; a record's other fields by name."""
    source = inspect.getsource(thing)
    remarks = {
        name: " ".join(line.strip().removeprefix("#:").strip() for line in remark.strip().split("\n"))
        for remark, name in re.findall(r"((?:^ +#:.*\n)+) +(?:self\.)?(\w+)[:\s]", source, re.MULTILINE)
    }
    if dataclasses.is_dataclass(thing):
        names = [field.name for field in dataclasses.fields(thing)]
    else:
        names = list(getattr(thing, "_fields", remarks))
    for name in names:
        yield f"- `{name}`: {remarks[name]}" if name in remarks else f"- `{name}`"


def prose(thing: Any) -> str:
    """A docstring as Markdown: its indented and its `>>>` blocks become code."""
    paragraphs = (inspect.getdoc(thing) or "").split("\n\n")
    shown: list[str] = []
    is_code = False
    for paragraph in paragraphs:
        starts_code = paragraph.startswith(("    ", ">>>"))
        if starts_code and is_code:
            shown[-1] = shown[-1].removesuffix("\n```") + "\n\n" + code(paragraph) + "\n```"
        else:
            shown.append(f"```python\n{code(paragraph)}\n```" if starts_code else paragraph)
        is_code = starts_code
    return "\n\n".join(shown) + "\n"


def code(paragraph: str) -> str:
    return "\n".join(
        line.removeprefix("    ") if not paragraph.startswith(">>>") else line
        for line in paragraph.split("\n")
    )


if __name__ == "__main__":
    print(page(), end="")
