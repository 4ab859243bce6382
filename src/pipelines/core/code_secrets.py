"""Credentials of an org: what they may be called, and taking their values out of what a run leaves behind."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.core.json_text import InvalidJson, Json, dumps, loads

CREDENTIAL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
NAME_RULE = "letters, digits and `_`, not beginning with a digit, at most 128"
# Shorter ones stand in every text by chance: they could not be kept out of what a run prints.
SHORTEST_VALUE, LONGEST_VALUE = 4, 32_768
MOST_SECRETS = 100  # of one agent

# The platform's own, and those that decide which programs and libraries a process loads.
_RESERVED = re.compile(
    r"_?PIPELINES_.*|LD_.*|PYTHON.*|PATH|HOME|TMPDIR|LANG|LC_.*|SHELL|USER|PWD", re.IGNORECASE
)


def name_complaint(name: str) -> str | None:
    if CREDENTIAL_NAME.fullmatch(name) is None:
        return f"is no name of an environment variable: {NAME_RULE}"
    if _RESERVED.fullmatch(name) is not None:
        return "is set by the platform or the system; choose another name"
    return None


@dataclass(frozen=True, slots=True)
class Redaction:
    """Takes the values of secrets out of text and JSON: `[secret NAME]` stands there instead."""

    secrets: Mapping[str, str]

    def __bool__(self) -> bool:
        return bool(self.secrets)

    def text(self, text: str) -> str:
        if not any(value in text for value in self.secrets.values()):
            return text
        for name, value in self._longest_first():
            text = text.replace(value, _mark(name))
        return text

    def json_bytes(self, raw: bytes) -> bytes:
        """Of a JSON text: the same bytes unless there is a secret in it, however its author spelled it."""
        if not self.secrets:
            return raw
        try:
            value = loads(raw)
        except InvalidJson:
            return self._bytes(raw)
        hidden = self._json(value)
        return raw if hidden == value else dumps(hidden)

    def _json(self, value: Json) -> Json:
        """Keys too. Nesting is bounded by `loads`."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._json(item) for item in value]
        if isinstance(value, dict):
            return {self.text(key): self._json(item) for key, item in value.items()}
        return value

    def _bytes(self, raw: bytes) -> bytes:
        """What nobody can read as JSON: as it stands, and as JSON writes it in its two ways."""
        for name, value in self._longest_first():
            for spelled in {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}:
                raw = raw.replace(spelled.encode(), _mark(name).encode())
        return raw

    def _longest_first(self) -> list[tuple[str, str]]:
        """One secret may be part of another."""
        return sorted(self.secrets.items(), key=lambda pair: -len(pair[1]))


def _mark(name: str) -> str:
    return f"[secret {name}]"
