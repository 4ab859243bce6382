"""Masks secrets in a recorded call before it is stored.

There are two kinds: the values that the endpoint's credentials have, in every spelling (`core.redaction`),
and texts that have the shape of a secret whoever it belongs to: private keys, JSON Web Tokens, passwords in
URLs, keys with a known prefix, authorization headers. What merely looks random is left alone: it is more
often an id, and a replayed run must repeat. Placeholders of shapes are made of the value alone, on every
server alike, so that a token which a masked reply gave is found again when the agent sends it back.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b

from pipelines.core.calls.cassette import RecordedCall
from pipelines.core.code.redaction import Redaction
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own
from pipelines.core.text.masking_patterns import GUESSABLE, LEAST_TOKEN, SHAPE_RULES, Rule

_PLACEHOLDER = re.compile(r"\[(?:private_key|jwt|credentials|secret)(?::[0-9a-f]{12})?\]")
#: Which of an endpoint's credentials it was is of no use, and their order may change.
_NUMBERED = re.compile(r"\[secret credential \d+\]")


def mask_call(call: RecordedCall, secrets: Sequence[str] = ()) -> RecordedCall:
    """The call without secrets, as it may be stored."""
    redaction = _redaction(secrets)
    hidden = replace(
        call,
        arguments=mask_arguments(call.arguments, secrets),
        response=_mask(call.response, redaction),
        failure=_mask_text(call.failure, redaction) if call.failure is not None else None,
        notes=tuple(_mask_text(note, redaction) for note in call.notes),
    )
    return call if hidden == call else replace(hidden, is_masked=True)


def mask_arguments(arguments: JsonObject, secrets: Sequence[str] = ()) -> JsonObject:
    """Arguments as a cassette has them. A call's arguments are masked the same way before it is looked up."""
    hidden = _mask(arguments, _redaction(secrets))
    assert isinstance(hidden, dict)
    return hidden


def mask_response(response: Json, secrets: Sequence[str] = ()) -> Json:
    """A response as it would be stored, to compare a new one with a recorded one."""
    return _mask(response, _redaction(secrets))


def has_placeholder(arguments: JsonObject) -> bool:
    """Whether something in the arguments is masked, so that they cannot be sent again."""
    return _PLACEHOLDER.search(dumps(arguments).decode()) is not None


def _redaction(secrets: Sequence[str]) -> Redaction:
    return Redaction({f"credential {number}": value for number, value in enumerate(secrets, 1)})


def _mask(value: Json, redaction: Redaction) -> Json:
    if redaction:
        text = dumps(value)
        redacted = redaction.json_bytes(text)
        value = value if redacted == text else loads_own(_NUMBERED.sub("[secret]", redacted.decode()))
    return _mask_shapes(value)


def _mask_text(text: str, redaction: Redaction) -> str:
    return _mask_shapes_in_text(_NUMBERED.sub("[secret]", redaction.text(text)))


def _mask_shapes(value: Json) -> Json:
    if isinstance(value, str):
        return _mask_shapes_in_text(value)
    if isinstance(value, dict):
        return {_mask_shapes_in_text(key): _mask_shapes(item) for key, item in value.items()}
    return [_mask_shapes(item) for item in value] if isinstance(value, list) else value


def _mask_shapes_in_text(text: str) -> str:
    if len(text) < LEAST_TOKEN:
        return text
    for rule in SHAPE_RULES:
        if rule.hint(text):
            text = rule.pattern.sub(partial(_placeholder, rule), text)
    return text


def _placeholder(rule: Rule, match: re.Match[str]) -> str:
    place = rule.hidden(match)
    if place is None or _PLACEHOLDER.search(match[0]):  # no secret, or hidden already
        return match[0]
    secret = match.string[slice(*place)].encode("utf-8", "surrogatepass")
    digest = "" if rule.pattern in GUESSABLE else f":{blake2b(secret, digest_size=6).hexdigest()}"
    before, after = match.string[match.start() : place[0]], match.string[place[1] : match.end()]
    return f"{before}[{rule.kind}{digest}]{after}"
