"""Parses an agent's reply leniently: only a bad `final_response` makes a reply unusable.

Anything else that is wrong is dropped or repaired, with a soft warning.
"""

import re
from dataclasses import dataclass, replace

from pipelines.core.agents.agent_response_schema import ANSWER_KEY, COUNT_KEYS, NUMBER_KEYS, TEXT_KEYS
from pipelines.core.agents.reply_limits import (
    MAX_FINAL_RESPONSE,
    MAX_METADATA_BYTES,
    MAX_REPLY_BYTES,
    MAX_REPLY_VALUES,
)
from pipelines.core.agents.transcript import Message, oddities, read_messages
from pipelines.core.text.authored import kind
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, count_values, dumps
from pipelines.core.text.problems import Problem
from pipelines.core.text.repaired_json import loads_repaired

PLATFORM_KEY = "model_gateway"  # of the metadata: what a run asked of models, as its gateway counted
MOST_WARNED = 3  # problems of one transcript: more of them say the same

_ENVELOPE_HINT = 'send {"final_response": "…"}, and optionally `messages` and `metadata`'
DROPPED = "messages was dropped"
_HTML = re.compile(rb"\s*<(!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>\s*([^<]{1,120})", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentReply:
    final_response: str
    messages: tuple[Message, ...] | None = None  # None: not sent, or dropped
    metadata: JsonObject | None = None
    soft_warnings: tuple[str, ...] = ()

    def messages_json(self) -> list[Json] | None:
        """The transcript in its one normal form, for storing and showing."""
        return None if self.messages is None else [message.as_json() for message in self.messages]

    @property
    def is_thin(self) -> bool:
        """It was sent without a transcript: one that was dropped has been told of."""
        return self.messages is None and not any(each.startswith(DROPPED) for each in self.soft_warnings)


@dataclass(frozen=True, kw_only=True, slots=True)
class BadReply:
    """The reply has no usable `final_response`, so there is nothing to grade."""

    detail: str  # what came instead
    hint: str | None = None  # what to send
    is_empty: bool = False  # an envelope, whose final_response says nothing: in an eval that is an answer too


@dataclass(frozen=True, kw_only=True, slots=True)
class ContractViolation:
    """The reply is readable, but not what the agent's response contract promises."""

    detail: str
    hint: str | None = None


def parse_agent_reply(raw: bytes, content_type: str | None = None) -> AgentReply | BadReply:
    """The reply in a 2xx body, whatever its content type says."""
    if len(raw) > MAX_REPLY_BYTES:
        size = MAX_REPLY_BYTES // (1024 * 1024)
        return BadReply(detail=f"the reply is over {size} MiB", hint="send fewer or shorter messages")
    if _HTML.match(raw) or ("html" in (content_type or "").lower() and raw.lstrip()[:1] == b"<"):
        return _html(raw)
    try:
        body, warnings = loads_repaired(raw)
    except InvalidJson as error:
        return BadReply(detail=f"the reply is not JSON: {error}", hint=_ENVELOPE_HINT)
    if not isinstance(body, dict):
        return BadReply(detail=f"the reply is {kind(body)}, not an object", hint=_ENVELOPE_HINT)
    if content_type is not None and "json" not in content_type.lower():
        warnings.append(f"the reply has content type {content_type[:80]}; application/json is expected")
    reply = read_reply_fields(body)
    if isinstance(reply, BadReply) or not warnings:
        return reply
    return replace(reply, soft_warnings=(*warnings, *reply.soft_warnings))


def read_reply_fields(body: JsonObject) -> AgentReply | BadReply:
    """The same for a body that has already been read: of a dispatch, of a code agent, of a run by hand."""
    final = body.get("final_response")
    if not isinstance(final, str) or not final.strip():
        return _no_final_response(body)
    warnings: list[str] = []
    if len(final) > MAX_FINAL_RESPONSE:
        warnings.append(f"final_response was cut at {MAX_FINAL_RESPONSE} of {len(final)} characters")
    if "\0" in final:
        warnings.append("final_response had NUL characters, which were replaced")
    return AgentReply(
        final_response=final[:MAX_FINAL_RESPONSE].replace("\0", "\ufffd"),
        messages=_read_messages(body.get("messages"), warnings),
        metadata=_read_metadata(body.get("metadata"), warnings),
        soft_warnings=tuple(warnings),
    )


def answer_in(metadata: Json) -> Json:
    """What an agent answered as data; None where it did not."""
    return metadata.get(ANSWER_KEY) if isinstance(metadata, dict) else None


def check_response_contract(reply: AgentReply, contract: JsonObject | None) -> ContractViolation | None:
    """A contract (`rich`, `strict`) asks for a transcript with something in it to grade."""
    if not contract or any(message.is_gradeable() for message in reply.messages or ()):
        return None
    if reply.messages is not None:
        why = "no assistant message of the transcript has text"
    else:
        dropped = (warning for warning in reply.soft_warnings if warning.startswith(DROPPED))
        why = next(dropped, "the reply has no `messages`")
    return ContractViolation(
        detail=f"the response contract asks for a gradeable transcript: {why}",
        hint="send `messages` with an assistant message that has text, or remove the contract from the agent",
    )


def _read_messages(value: Json, warnings: list[str]) -> tuple[Message, ...] | None:
    if value is None:
        return None
    if count_values(value, MAX_REPLY_VALUES) > MAX_REPLY_VALUES:
        warnings.append(f"{DROPPED}: it holds more than {MAX_REPLY_VALUES:,} values")
        return None
    messages, problems = read_messages(value)
    if problems:
        warnings.append(f"{DROPPED}: {_problems_text(problems)}")
        return None
    odd = list(oddities(messages))
    if odd:
        warnings.append(f"messages: {_problems_text(odd)}")
    return messages


def _read_metadata(value: Json, warnings: list[str]) -> JsonObject | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        warnings.append(f"metadata was dropped: it must be an object, not {kind(value)}")
        return None
    if count_values(value, MAX_REPLY_VALUES) > MAX_REPLY_VALUES or len(dumps(value)) > MAX_METADATA_BYTES:
        most = f"{MAX_METADATA_BYTES // 1024} KiB or {MAX_REPLY_VALUES:,} values"
        warnings.append(f"metadata was dropped: it has more than {most}")
        return None
    if PLATFORM_KEY in value:
        warnings.append(f"metadata.{PLATFORM_KEY} was dropped: only the platform may write it")
        value = {key: each for key, each in value.items() if key != PLATFORM_KEY}
    for key in TEXT_KEYS:
        if not isinstance(value.get(key), str | None):
            warnings.append(f"metadata.{key} is not a string")
    for key in (*COUNT_KEYS, *NUMBER_KEYS):
        if not _is_amount(value.get(key), is_whole=key in COUNT_KEYS):
            what = "a whole number" if key in COUNT_KEYS else "a number"
            warnings.append(f"metadata.{key} is not {what} of 0 or more")
    if not isinstance(value.get(ANSWER_KEY), dict | None):
        warnings.append(f"metadata.{ANSWER_KEY} is not an object of values by name")
    return value


def _is_amount(value: Json, *, is_whole: bool) -> bool:
    if value is None:
        return True
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return False
    return not is_whole or value == int(value)


def _problems_text(problems: list[Problem]) -> str:
    listed = "; ".join(f"{problem.path} {problem.message}" for problem in problems[:MOST_WARNED])
    more = len(problems) - MOST_WARNED
    return f"{listed}; and {more} more" if more > 0 else listed


def _no_final_response(body: JsonObject) -> BadReply:
    if "final_response" in body:
        final = body["final_response"]
        is_empty = isinstance(final, str)
        what = "empty" if is_empty else kind(final)
        hint = "it must be a non-empty string"
        return BadReply(detail=f"`final_response` is {what}", hint=hint, is_empty=is_empty)
    if body == {"ok": True}:
        detail = "the reply answers a ping, not a dispatch"
        return BadReply(detail=detail, hint='answer {"ok": true} only when the whole body is {"ping": true}')
    names = ", ".join(f"`{name[:40]}`" for name in list(body)[:10])
    detail = f"the reply has no `final_response`, only {names}" if names else "the reply is an empty object"
    return BadReply(detail=detail, hint=_ENVELOPE_HINT)


def _html(raw: bytes) -> BadReply:
    title = _TITLE.search(raw[:20_000].decode("utf-8", "replace"))
    called = f" titled “{' '.join(title[1].split())}”" if title is not None else ""
    hint = "a login page, a proxy or a landing page may be in front of the agent: check the endpoint URL"
    return BadReply(detail=f"the reply is an HTML page{called}, not JSON", hint=hint)
