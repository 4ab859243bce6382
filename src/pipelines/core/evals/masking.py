"""Secrets and personal data are taken out before anything is stored: `[email:1f3a9c02]` stands there instead.

The figures are a keyed hash: equal values stay equal within an org, so that what recurs is still seen to, and
nobody without the key can try out what they stand for. Masking what is masked changes nothing.
"""

import hmac
import re
from bisect import bisect_right
from collections import Counter

from pipelines.core.evals.masking_keys import kind_of_key
from pipelines.core.evals.masking_patterns import Rule, is_card, rules_for
from pipelines.core.json_text import Json, JsonObject

SHORTEST = 5  # characters that a pattern could find anything in
REMEMBERED = 20_000  # texts: most values of a skill come again and again
REMEMBERED_LENGTH = 120
PLACEHOLDER = re.compile(r"\[(?:[a-z_]{2,12}):[0-9a-f]{8}\]")
CARD_NUMBERS = range(10**13, 10**19)


class Masking:
    """Of one org. `counts` says how many values of each kind were hidden."""

    def __init__(self, key: bytes, *, ips: bool = False) -> None:
        self.counts: Counter[str] = Counter()
        self._key = key
        self._ips = ips
        self._texts: dict[str, str] = {}

    def text(self, text: str) -> str:
        if len(text) < SHORTEST:
            return text
        known = self._texts.get(text)
        if known is not None:
            return known
        masked = self._masked(text)
        if masked == text and len(text) <= REMEMBERED_LENGTH:
            if len(self._texts) >= REMEMBERED:
                self._texts.clear()
            self._texts[text] = text
        return masked

    def json(self, value: Json, *, key: str = "", parent: str = "") -> Json:
        """Names of fields count too: what is called a password is one, whatever it looks like."""
        if isinstance(value, str):
            if key and kind_of_key(parent, key) is not None:
                return self._by_name(value, kind_of_key(parent, key) or "")
            return self.text(value)
        if value is None or isinstance(value, bool):
            return value
        kind = kind_of_key(parent, key) if key else None
        if isinstance(value, dict):
            return self._object(value, key) if kind != "secret" else self._all_of(value)
        if isinstance(value, list):
            if kind == "secret":
                return self._all_of(value)
            return [self.json(item, key=key, parent=parent) for item in value]
        if kind is not None:
            return self._by_name(str(value), kind)
        if isinstance(value, int) and value in CARD_NUMBERS and is_card(str(value)):
            return self._placeholder("card", str(value))
        return value

    def object(self, value: JsonObject) -> JsonObject:
        return self._object(value, "")

    def _object(self, value: JsonObject, name: str) -> JsonObject:
        return {self.text(key): self.json(item, key=key, parent=name) for key, item in value.items()}

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

    def _masked(self, text: str) -> str:
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
        digest = hmac.digest(self._key, value.encode("utf-8", "surrogatepass"), "sha256")
        return f"[{kind}:{digest[:4].hex()}]"


def _is_hidden(hidden: list[tuple[int, int]], place: tuple[int, int]) -> bool:
    """Whether a place lies across one that is hidden already; they are in order."""
    at = bisect_right(hidden, place[0], key=lambda one: one[1])
    return at < len(hidden) and hidden[at][0] < place[1]
