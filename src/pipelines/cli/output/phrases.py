"""Figures and values as text, the same in the terminal, in JUnit and in messages."""

import json
from typing import Any

from pipelines.cli.output.junit import printable

LONGEST_VALUE = 60
MOST_MOVED = 4


def plural(count: int, word: str, many: str | None = None) -> str:
    return f"{count} {word if count == 1 else many or word + 's'}"


def percent(share: float | None) -> str:
    return "–" if share is None else f"{share * 100:.0f} %"


def rate(match: Any, *, verb: str = "match") -> str:
    """`2 of 5 match (95 % interval 12–77 %)`."""
    if not match or not match["n"]:
        return "no run to judge by"
    text = f"{match['k']} of {match['n']} {verb}"
    interval = match.get("interval")
    return f"{text} (95 % interval {spread_percent(interval)})" if interval else text


def short_rate(match: Any) -> str:
    """`2/5 match (12–77 %)`."""
    if not match or not match["n"]:
        return "no run to judge by"
    return f"{match['k']}/{match['n']} match ({spread_percent(match['interval'])})"


def spread_percent(interval: list[float]) -> str:
    low, high = interval
    return f"{low * 100:.0f}–{high * 100:.0f} %"


def shift(cell: Any) -> str:
    """`shift 0.62 (0.40–0.80)`: the 95 % interval, or `(range …)` if there are too few runs for one."""
    if cell["shift_magnitude"] is None:
        return "no shift measured"
    text = f"shift {cell['shift_magnitude']:.2f}"
    if cell.get("interval"):
        return f"{text} ({cell['interval'][0]:.2f}–{cell['interval'][1]:.2f})"
    if cell.get("range") and cell["range"][0] != cell["range"][1]:
        return f"{text} (range {cell['range'][0]:.2f}–{cell['range'][1]:.2f})"
    return text


def value(given: Any, *, longest: int = LONGEST_VALUE) -> str:
    """A value as JSON, so that "", null and "null" look different; long ones are cut."""
    text = printable(json.dumps(given, ensure_ascii=False))
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def moved(components: list[Any], *, most: int = MOST_MOVED) -> str:
    """The fields that changed, with both values, the heaviest first."""
    changed = [part for part in components if part["distance"]]
    changed.sort(key=lambda part: -part["distance"] * part["weight"])
    parts = [f"{field(part['path'])}: {side(part, 'from')} → {side(part, 'to')}" for part in changed[:most]]
    more = len(changed) - most
    return "; ".join(parts) + (f"; and {plural(more, 'more field')}" if more > 0 else "")


def side(part: Any, name: str) -> str:
    """One side of a change; a missing value differs from null."""
    if part.get(f"{name}_missing"):
        return "missing"
    return str(part[name]) if part["kind"] == "class" else value(part[name])


def field(path: str) -> str:
    """A JSON pointer as people write it: `/order/items/0` is `order.items.0`."""
    return (
        printable(path.removeprefix("/").replace("/", ".").replace("~1", "/").replace("~0", "~")) or "output"
    )
