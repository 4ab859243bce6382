"""Masks secrets and personal data before anything is stored, for example as `[email:1f3a9c02]`.

The digits are a keyed hash: equal values stay equal within an org, so that repeated values are still visible,
and nobody without the key can test guesses. Masking a masked text changes nothing.
"""

import re
from bisect import bisect_right
from collections import Counter
from hashlib import blake2b

from pipelines.core.evals.telemetry.masking_keys import KeyKind, kind_of_key
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.masking_patterns import Rule, is_card, is_plain, rules_for

SHORTEST = 5  # characters that a pattern could find anything in
REMEMBERED = 20_000  # texts: most values of a skill come again and again
REMEMBERED_LENGTH = 120  # characters of one
PLACEHOLDER = re.compile(r"\[(?:[a-z_]{2,12}):[0-9a-f]{8}\]")
CARD_NUMBERS = range(10**13, 10**19)


class Masking:
    """Of one org, with a key of up to 64 bytes. `counts` says how many values of each kind were hidden."""

    def __init__(self, key: bytes, *, ips: bool = False) -> None:
        self.counts: Counter[str] = Counter()
        self._key = key
        self._ips = ips
        self._texts: set[str] = set()  # that nothing was found in
        self._names: dict[tuple[str, str], tuple[str, KeyKind | None]] = {}

    def text(self, text: str) -> str:
        if len(text) < SHORTEST or text in self._texts or (is_plain(text) and not self._ips):
            return text
        masked = self._mask_text(text)
        if masked == text and len(text) <= REMEMBERED_LENGTH:
            if len(self._texts) >= REMEMBERED:
                self._texts.clear()
            self._texts.add(text)
        return masked

    def json(self, value: Json) -> Json:
        return self._json(value, None, "")

    def object(self, value: JsonObject) -> JsonObject:
        return self._object(value, "")

    def _object(self, value: JsonObject, name: str) -> JsonObject:
        """Names of fields count too: what is called a password is one, whatever it looks like."""
        masked: JsonObject = {}
        for key, item in value.items():
            name_shown, kind = self._names.get((name, key)) or self._name(name, key)
            masked[name_shown] = self._json(item, kind, key)
        return masked

    def _name(self, parent: str, key: str) -> tuple[str, KeyKind | None]:
        if len(self._names) >= REMEMBERED:
            self._names.clear()
        self._names[parent, key] = found = self.text(key), kind_of_key(parent, key)
        return found

    def _json(self, value: Json, kind: KeyKind | None, name: str) -> Json:
        if isinstance(value, str):
            return self.text(value) if kind is None else self._by_name(value, kind)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, dict):
            return self._object(value, name) if kind != "secret" else self._all_of(value)
        if isinstance(value, list):
            return [self._json(item, kind, name) for item in value]
        if kind is not None:
            return self._by_name(str(value), kind)
        if isinstance(value, int) and value in CARD_NUMBERS and is_card(str(value)):
            return self._placeholder("card", str(value))
        return value

    def _all_of(self, value: Json) -> Json:
        """Under a name that promises a secret, every text and number is one."""
        if isinstance(value, dict):
            return {self.text(key): self._all_of(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._all_of(item) for item in value]
        if value is None or isinstance(value, bool):
            return value
        return self._by_name(str(value), "secret")

    def _by_name(self, text: str, kind: str) -> str:
        return text if not text or PLACEHOLDER.fullmatch(text) else self._placeholder(kind, text)

    def _mask_text(self, text: str) -> str:
        for rule in rules_for(text, ips=self._ips):
            text = self._hidden(rule, text)
        return text

    def _hidden(self, rule: Rule, text: str) -> str:
        parts: list[str] = []
        done = 0
        hidden = [match.span() for match in PLACEHOLDER.finditer(text)] if "[" in text else []
        for match in rule.pattern.finditer(text):
            place = rule.hidden(match)
            if place is None or _is_hidden(hidden, place):
                continue
            parts += text[done : place[0]], self._placeholder(rule.kind, text[slice(*place)])
            done = place[1]
        return "".join([*parts, text[done:]]) if parts else text

    def _placeholder(self, kind: str, value: str) -> str:
        self.counts[kind] += 1
        digest = blake2b(value.encode("utf-8", "surrogatepass"), key=self._key, digest_size=4)
        return f"[{kind}:{digest.hexdigest()}]"


def _is_hidden(hidden: list[tuple[int, int]], place: tuple[int, int]) -> bool:
    """Whether a place lies across one that is hidden already; they are in order."""
    at = bisect_right(hidden, place[0], key=lambda one: one[1])
    return at < len(hidden) and hidden[at][0] < place[1]
