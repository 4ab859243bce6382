"""Masks the values of secrets in text and JSON as `[secret NAME]`.

A value is looked for in every spelling that programs give it without meaning to hide it: as it stands, its
lines alone, escaped as JSON and Python do, URL-encoded, in base64 within whatever else was encoded, in hex,
and as a number of JSON. Short spellings are found whole; of long ones every piece of `PIECE` characters, so
that neither a cut nor other line breaks let one through. One pass over the text, however many there are.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from pipelines.core.code.code_secrets import SHORTEST_LINE, SHORTEST_VALUE
from pipelines.core.text.json_text import InvalidJson, Json, dumps, loads

PROBE = 16  # every text is probed at each such place, so that a piece twice as long cannot be missed
PIECE = 2 * PROBE
SHORTEST_ENCODED = 8  # characters: less of an encoded value stands in other texts by chance
KEPT = 4  # sets of secrets whose spellings are remembered: an agent's runs come one after the other


class Redaction:
    """Of one run. Cheap to make: what is looked for is worked out once for equal secrets."""

    __slots__ = ("_spellings", "secrets")

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self.secrets = secrets
        self._spellings = _spellings(tuple(sorted(secrets.items())))

    def __bool__(self) -> bool:
        return bool(self.secrets)

    def text(self, text: str) -> str:
        found = sorted(self._spellings.places(text), key=lambda place: (place.start, -place.end))
        if not found:
            return text
        parts: list[str] = []
        done = 0
        for place in found:
            if place.end <= done:  # within one that is hidden already
                continue
            parts += text[done : max(done, place.start)], f"[secret {place.name}]"
            done = place.end
        return "".join([*parts, text[done:]])

    def cut_text(self, text: str, cut: re.Pattern[str]) -> str:
        """As `text`, of one whose middle was left out where `cut` matches. What lay across it is too short to
        be known for part of a secret: so much on either side goes too."""
        match = cut.search(text)
        if match is None or not self.secrets:
            return self.text(text)
        head, tail = self.text(text[: match.start()]), self.text(text[match.end() :])
        head = head if head.endswith("]") else head[: -(PIECE - 1)]
        tail = tail if tail.startswith("[") else tail[PIECE - 1 :]
        return head + match[0] + tail

    def json_bytes(self, raw: bytes) -> bytes:
        """Of a JSON text: the same bytes unless there is a secret in it, however its author spelled it."""
        if not self.secrets:
            return raw
        try:
            value = loads(raw)
        except InvalidJson:
            return self.bytes(raw)
        hidden = self._json(value)
        # What is in the text and not in the values are digits past what a number can hold: written anew, a
        # number has none of those.
        return raw if hidden == value and self.bytes(raw) == raw else dumps(hidden)

    def bytes(self, raw: bytes) -> bytes:
        """Of what need not be text."""
        return self.text(raw.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def _json(self, value: Json) -> Json:
        """Keys too. Nesting is bounded by `loads`."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._json(item) for item in value]
        if isinstance(value, dict):
            return {self.text(key): self._json(item) for key, item in value.items()}
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self._number(value)
        return value

    def _number(self, value: float) -> Json:
        name = self._spellings.numbers.get(value)
        if name is not None:
            return f"[secret {name}]"
        written = dumps(value).decode()
        hidden = self.text(written)
        return value if hidden == written else hidden


class SecretMatch(NamedTuple):
    """Where in a text a secret is."""

    start: int
    end: int
    name: str


class _Spellings(NamedTuple):
    short: dict[int, dict[str, str]]  # length -> spelling -> name
    probes: dict[str, str]  # each PROBE characters of a long spelling -> name
    numbers: dict[float, str]

    def places(self, text: str) -> Iterator[SecretMatch]:
        yield from self._short_places(text)
        if self.probes:
            yield from self._pieces(text)

    def _short_places(self, text: str) -> Iterator[SecretMatch]:
        for length, names in self.short.items():
            if len(names) <= PROBE and not any(spelling in text for spelling in names):
                continue  # the usual case, at the speed of a search
            for start in range(len(text) - length + 1):
                name = names.get(text[start : start + length])
                if name is not None:
                    yield SecretMatch(start, start + length, name)

    def _pieces(self, text: str) -> Iterator[SecretMatch]:
        """Wherever PIECE characters or more are all of long spellings."""
        last = len(text) - PROBE
        at = 0
        while at <= last:
            name = self.probes.get(text[at : at + PROBE])
            if name is None:
                at += PROBE
                continue
            start, end = at, at
            while start > 0 and text[start - 1 : start - 1 + PROBE] in self.probes:
                start -= 1
            while end < last and text[end + 1 : end + 1 + PROBE] in self.probes:
                end += 1
            if end + PROBE - start >= PIECE:
                yield SecretMatch(start, end + PROBE, name)
            at = end + PROBE


@lru_cache(maxsize=KEPT)
def _spellings(secrets: tuple[tuple[str, str], ...]) -> _Spellings:
    short: dict[int, dict[str, str]] = {}
    probes: dict[str, str] = {}
    numbers: dict[float, str] = {}
    for name, value in sorted(secrets, key=lambda pair: -len(pair[1])):  # one may be part of another
        for spelling in set(_spellings_of(value)):
            if len(spelling) < PIECE:
                short.setdefault(len(spelling), {}).setdefault(spelling, name)
            else:
                for start in range(len(spelling) - PROBE + 1):
                    probes.setdefault(spelling[start : start + PROBE], name)
        if (number := _number(value)) is not None:
            numbers.setdefault(number, name)
    return _Spellings(dict(sorted(short.items(), reverse=True)), probes, numbers)


def _spellings_of(value: str) -> Iterator[str]:
    """In every way. Long lines are pieces of the whole, and found as such."""
    bare = value.strip()
    if len(bare) < SHORTEST_VALUE:
        return
    yield from (bare, *_escaped_forms(bare), *_encoded_forms(bare.encode("utf-8", "surrogatepass")))
    for line in {line.strip() for line in bare.splitlines()}:
        if SHORTEST_LINE <= len(line) < len(bare):
            encoded = _encoded_forms(line.encode("utf-8", "surrogatepass")) if len(line) < PIECE else ()
            yield from (line, *_escaped_forms(line), *encoded)


def _escaped_forms(text: str) -> Iterable[str]:
    raw = text.encode("utf-8", "surrogatepass")
    url = {quote(raw, safe=""), quote(raw), quote_plus(raw)}
    small = {re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), one) for one in url}
    as_json = json.dumps(text)[1:-1]
    return {
        as_json,
        json.dumps(as_json)[1:-1],  # a log line in a log line
        json.dumps(text, ensure_ascii=False)[1:-1],
        repr(text)[1:-1],
        ascii(text)[1:-1],
        *url,
        *small,
    }


def _encoded_forms(raw: bytes) -> Iterator[str]:
    """In hex, and in base64 wherever in an encoded text it stands: the characters that it alone decides."""
    every = [raw.hex(), raw.hex().upper()]
    for before in range(3):
        padded = bytes(before) + raw
        first = -(-8 * before // 6)
        sure = base64.b64encode(padded).decode()[first : len(padded) * 8 // 6]
        every += sure, sure.replace("+", "-").replace("/", "_")
    yield from (spelling for spelling in every if len(spelling) >= SHORTEST_ENCODED)


def _number(value: str) -> float | None:
    try:
        return float(value) if re.fullmatch(r"[-+]?[0-9.]+([eE][-+]?[0-9]+)?", value.strip()) else None
    except ValueError:
        return None
