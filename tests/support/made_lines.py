"""Lines of spans as drafts are made from them."""

import json
from typing import Any


def line(
    number: int,
    input: Any = None,
    outcome: Any = None,
    *,
    skill: str = "triage",
    status: str = "ok",
    trace: int | None = None,
    parent: int | None = None,
    name: str = "skill.invoke",
    at: tuple[int, int] | None = None,
) -> bytes:
    """One span; `trace` and `parent` by their number, `at` from when to when."""
    ids = [f"{number if trace is None else trace:032x}", f"{number:016x}"]
    start, end = at or (number * 1_000, number * 1_000 + 500)
    told = [f"{parent:016x}" if parent is not None else None, name, skill, status, start, end, input, outcome]
    return json.dumps([*ids, *told]).encode()
