"""Values that no world has: of the shape a JSON schema asks for, drawn from the seed and what they are of."""

import hashlib
from collections.abc import Callable
from datetime import date, timedelta

from pipelines.core.simulation.call import Call
from pipelines.core.simulation.values import Stopped, Value, kind_of, leave
from pipelines.core.text.json_text import dumps

MAX_DEPTH = 6
MAX_ITEMS = 20
_DRAWN = 40  # units of budget: one value
_SPREAD = 100  # a number without bounds is drawn from so many


def _invented(call: Call, schema: Value, *of: Value) -> Value:
    if not isinstance(schema, dict):
        raise Stopped("plan_type", f"a schema is a mapping, not {kind_of(schema)}")
    key = dumps([leave(one, call) for one in of]).decode()
    call.spend(_DRAWN + len(key))
    name = of[0] if of and isinstance(of[0], str) else "value"
    return _Invention(call, f"{call.moment.seed}\0{key}").value(schema, f"/{name}", 0)


class _Invention:
    """Every value is drawn by its place, so that one more property leaves the others as they are."""

    def __init__(self, call: Call, seed: str) -> None:
        self._call = call
        self._seed = seed

    def value(self, schema: Value, place: str, depth: int) -> Value:
        self._call.spend(_DRAWN)
        if not isinstance(schema, dict) or depth > MAX_DEPTH:
            return None
        for stated in ("const", "default"):
            if schema.get(stated) is not None:
                return schema[stated]
        listed = schema.get("enum")
        if isinstance(listed, list) and listed:
            return listed[self._draw(place, len(listed))]
        options = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(options, list) and options:
            full = [one for one in options if isinstance(one, dict) and one.get("type") != "null"]
            return self.value(full[0], place, depth + 1) if full else None
        return self._typed(schema, place, depth)

    def _typed(self, schema: dict[str, Value], place: str, depth: int) -> Value:
        declared = schema.get("type")
        names = declared if isinstance(declared, list) else [declared]
        kind = next(
            (one for one in names if one and one != "null"), "object" if "properties" in schema else None
        )
        if kind == "object":
            parts = schema.get("properties")
            inner = parts.items() if isinstance(parts, dict) else ()
            return {name: self.value(part, f"{place}/{name}", depth + 1) for name, part in inner}
        if kind == "array":
            fewest = schema.get("minItems")
            count = min(fewest, MAX_ITEMS) if isinstance(fewest, int) else 1
            return [self.value(schema.get("items", {}), f"{place}/{at}", depth + 1) for at in range(count)]
        if kind == "boolean":
            return bool(self._draw(place, 2))
        if kind in ("integer", "number"):
            return self._number(schema, place, kind == "integer")
        return self._text(schema, place) if kind == "string" else None

    def _number(self, schema: dict[str, Value], place: str, is_whole: bool) -> Value:
        low, high = schema.get("minimum"), schema.get("maximum")
        least = (
            low
            if isinstance(low, (int, float))
            else (high - _SPREAD if isinstance(high, (int, float)) else 1)
        )
        most = high if isinstance(high, (int, float)) else least + _SPREAD
        if is_whole:
            return int(least) + self._draw(place, max(1, int(most) - int(least) + 1))
        return round(least + (most - least) * self._draw(place, 1_000) / 1_000, 2)

    def _text(self, schema: dict[str, Value], place: str) -> str:
        written = _FORMATS.get(str(schema.get("format")))
        drawn = self._draw(place, 900)
        if written is not None:
            return written(drawn, self._call.moment.now)
        name = place.rpartition("/")[2].replace("_", " ")
        text = f"{name} {drawn + 100}"
        longest, shortest = schema.get("maxLength"), schema.get("minLength")
        text = text[: longest if isinstance(longest, int) else None]
        return text.ljust(shortest, "x") if isinstance(shortest, int) and shortest < 1_000 else text

    def _draw(self, place: str, below: int) -> int:
        digest = hashlib.sha256(f"{self._seed}\0{place}".encode()).digest()
        return int.from_bytes(digest[:8]) % below


def _day(drawn: int, now: str) -> str:
    """Within the year after the run's own day."""
    return (date.fromisoformat(now[:10]) + timedelta(days=drawn % 365)).isoformat()


_FORMATS: dict[str, Callable[[int, str], str]] = {
    "date": _day,
    "date-time": lambda drawn, now: f"{_day(drawn, now)}T{drawn % 24:02}:{drawn % 60:02}:00Z",
    "time": lambda drawn, now: f"{drawn % 24:02}:{drawn % 60:02}:00",
    "email": lambda drawn, now: f"person{drawn}@example.com",
    "uri": lambda drawn, now: f"https://example.com/{drawn}",
    "url": lambda drawn, now: f"https://example.com/{drawn}",
    "uuid": lambda drawn, now: f"00000000-0000-4000-8000-{drawn:012}",
}

ROWS: tuple[tuple[str, str, str, Callable[..., Value]], ...] = (
    (
        "invented(schema, of, …)",
        "a value that no world has, as the JSON schema asks; the same for the same seed and `of`",
        "invented({'const': 7}, 'answer') → 7",
        _invented,
    ),
)
