"""What the agent did, parsed from its answer or from the tool calls that the proxy saw.

Refusals, broken JSON and silence are classes of behaviour; transport errors are not. Notes say how an answer
had to be cleaned up, and which of several readings was used.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from pipelines.core.evals.scenarios.contract import Contract, is_pattern
from pipelines.core.matchers.matching import CannotMatch, matches
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject
from pipelines.core.text.repaired_json import loads_repaired
from pipelines.wire.records import Record

OutputClass: TypeAlias = Literal["object", "text", "refusal", "unparseable", "empty"]

MOST_SEARCHED = (
    2_000_000  # characters read in search of an object: an unclosed `{"a":` may be met at each step
)
MOST_OBJECTS = 64  # in one answer
MOST_CALLS = 1_000  # kept of a run
LONGEST_KEPT = 200_000  # characters of an answer that is no object

_DECODER = json.JSONDecoder()
_START = re.compile(r'\{\s*["}]')
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n`]*$", re.MULTILINE)
# Not being able or willing to take up the task at all. "I cannot approve this" is a decision, and not here.
_CANNOT = r"(?:can(?:no|['’])t|can not|won['’]t|will not|(?:am|['’]m|are|['’]re) (?:unable|not able))"
_HELP = (
    r"(?:(?:provide (?:any )?)?(?:help|assist(?:ance)?)|comply|fulfil+|answer|do (?:that|this)|engage"
    r"|participate|continue with this request)"
)
_REFUSES = re.compile(
    rf"\b(?:sorry|afraid|apologi[sz]e),? (?:but |that )?(?:i|we)(?= |['’]) ?{_CANNOT}"
    rf"|\b(?:i|we)(?: must| have to)?(?= |['’]) ?(?:{_CANNOT}|refuse|decline)(?: to)? {_HELP}\b"
    rf"|^unable to {_HELP}\b"
    rf"|\bas an ai\b[^.\n]{{0,80}}\b(?:i|we) {_CANNOT}",
    re.IGNORECASE,
)
_REFUSAL_OPENS = 400  # characters: a refusal says so first
_NEGATION_BEFORE = re.compile(
    r"(?:\b(?:not|never|no|without|cannot|rather than|instead of)|n['’]t)(?:\s+\w+){0,2}\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed(Record):
    """What the agent did."""

    output_class: OutputClass
    #: The object; the text of "text", "refusal" and "unparseable"; None of "empty".
    value: Json
    notes: tuple[str, ...] = ()

    @classmethod
    def from_stored(cls, body: JsonObject) -> "Observed":
        notes = body.get("notes")
        return cls(
            output_class=cast(OutputClass, body["output_class"]),
            value=body.get("value"),
            notes=tuple(str(note) for note in notes) if isinstance(notes, list) else (),
        )

    @property
    def answer(self) -> JsonObject | None:
        """What expectations are held against: an object, a text as `{"text": …}`; None if it is no answer."""
        if self.output_class == "object" and isinstance(self.value, dict):
            return self.value
        return {"text": self.value} if self.output_class == "text" else None


EMPTY: Final = Observed(output_class="empty", value=None)


def observe(final_response: str | None, contract: Contract) -> Observed:
    """The object in an answer, without fences and prose around it; else what the text is."""
    text = (final_response or "").strip().removeprefix("\ufeff").strip()
    if not text:
        return EMPTY
    found = _whole_object(text) or _embedded_object(text, contract)
    if found is not None and _has_expected_field(found, contract):
        return found
    if contract.decision_labels:
        decided = _decision(text, contract)
        if decided is not None:
            return decided
    return found or _text_class(text)


def observe_calls(calls: Sequence[tuple[str, JsonObject]], contract: Contract) -> Observed:
    """`{"tool": the last one called or null, "arguments": its arguments, "tools": all names, "calls": all}`.

    An agent that called nothing did something too: `{"tool": null, …}` can be expected, and compared.
    """
    kept = calls[:MOST_CALLS]
    last_tool, last_arguments = calls[-1] if calls else (None, {})
    value: JsonObject = {
        "tool": last_tool,
        "arguments": last_arguments,
        "tools": [tool for tool, _ in kept],
        "calls": [{"tool": tool, "arguments": arguments} for tool, arguments in kept],
    }
    cut = len(calls) > MOST_CALLS
    notes = (f"only the first {MOST_CALLS:,} of {len(calls):,} calls were kept",) if cut else ()
    return Observed(output_class="object", value=value, notes=notes)


def _has_expected_field(found: Observed, contract: Contract) -> bool:
    """Where prose is expected, an object in it that has no expected field is something quoted."""
    value = found.value if isinstance(found.value, dict) else {}
    return not contract.decision_labels or bool(contract.expected_behavior.keys() & value.keys())


# Finding the object


def _whole_object(text: str) -> Observed | None:
    try:
        value, mended = loads_repaired(text.encode("utf-8", "replace"))
    except InvalidJson:
        return None
    if isinstance(value, dict):
        return Observed(output_class="object", value=value, notes=tuple(mended))
    return None


def _embedded_object(text: str, contract: Contract) -> Observed | None:
    objects = list(_objects(text))
    if not objects:
        return None
    expected_keys = contract.expected_behavior.keys()
    # The last of those that answer most of what was asked: what comes first is often an example or a plan.
    value, start, end, mended = max(
        enumerate(objects), key=lambda each: (len(expected_keys & each[1][0].keys()), each[0])
    )[1]
    outside = text[:start] + "\n" + text[end:]
    notes = list(mended)
    if _FENCE.search(outside):
        notes.append("code fences around the object were removed")
        outside = _FENCE.sub("", outside)
    if outside.strip():
        notes.append("text around the object was removed")
    if len(objects) > 1:
        notes.append(f"{len(objects)} objects were found; the last with the most expected fields is used")
    return Observed(output_class="object", value=value, notes=tuple(notes))


def _objects(text: str) -> Iterator[tuple[JsonObject, int, int, list[str]]]:
    """Objects in a text that are in no other, each with its place; the work is bounded, not the length."""
    at, searched, found = _next_start(text, 0), 0, 0
    while at is not None and searched < MOST_SEARCHED and found < MOST_OBJECTS:
        end, wasted = _object_end(text, at)
        searched += wasted
        if end is not None:
            try:
                value, mended = loads_repaired(text[at:end].encode("utf-8", "replace"))
            except InvalidJson:
                value = None
            if isinstance(value, dict):
                found += 1
                yield value, at, end, mended
        at = _next_start(text, end or at + 1)


def _object_end(text: str, start: int) -> tuple[int | None, int]:
    """Where the object that begins here ends, if it is one, and how many characters were read in vain."""
    try:
        return _DECODER.raw_decode(text, start)[1], 0
    except json.JSONDecodeError as error:
        return None, error.pos - start + error.pos // 4 + 50  # the error itself counts all lines before it
    except (RecursionError, ValueError):  # nested without end; a number of more digits than int takes
        return None, len(text) - start


def _next_start(text: str, from_: int) -> int | None:
    found = _START.search(text, from_)
    return found.start() if found else None


# Texts


def _text_class(text: str) -> Observed:
    notes: tuple[str, ...] = ()
    kept = text
    if len(text) > LONGEST_KEPT:
        kept, notes = text[:LONGEST_KEPT], (f"only the first {LONGEST_KEPT:,} characters were kept",)
    if _REFUSES.search(text[:_REFUSAL_OPENS]):
        return Observed(output_class="refusal", value=kept, notes=notes)
    bare = _FENCE.sub("", text).strip()
    if bare[:1] in ("{", "[", '"') or _is_scalar(bare):
        # It was meant as JSON, and is broken, or it is a list or a bare value where an object was asked for.
        return Observed(
            output_class="unparseable", value=kept, notes=(*notes, "no JSON object could be read")
        )
    return Observed(output_class="text", value=kept, notes=notes)


def _is_scalar(text: str) -> bool:
    return text in ("null", "true", "false") or re.fullmatch(r"-?\d{1,40}(?:\.\d{1,40})?", text) is not None


def _decision(text: str, contract: Contract) -> Observed | None:
    """The decision that a text announces; None if it is a refusal, which is a class of its own."""
    found = [label for label, phrases in contract.decision_labels.items() if _announces(text, phrases)]
    place = contract.decision_field
    if len(found) == 1:
        return _decision_result(place, found[0], f"the text was read as the decision `{found[0]}`")
    if found:
        # Which one was meant is not guessed: several are no decision, and differ from each alone.
        named = ", ".join(f"`{label}`" for label in found)
        return _decision_result(place, cast(Json, found), f"the text names several decisions: {named}")
    if _REFUSES.search(text[:_REFUSAL_OPENS]):
        return None
    return _decision_result(place, None, "the text names none of the decision labels")


def _decision_result(place: str, label: Json, note: str) -> Observed:
    value: Json = label
    for part in reversed(place.split("/")):
        value = {part.replace("~1", "/").replace("~0", "~"): value}
    return Observed(output_class="object", value=value, notes=(note,))


def _announces(text: str, phrases: Sequence[str]) -> bool:
    return any(
        _fits(phrase[1:-1], text) if is_pattern(phrase) else _mentions(phrase, text) for phrase in phrases
    )


def _fits(pattern: str, text: str) -> bool:
    try:
        return matches({"$regex": pattern}, text)
    except CannotMatch:
        return False  # too long for the pattern; a decision that cannot be told is not found


def _mentions(phrase: str, text: str) -> bool:
    """Whether the words stand there and are not denied ("do not proceed") right before."""
    words = r"\s+".join(map(re.escape, phrase.split()))
    for found in re.finditer(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE):
        clause = re.split(r"[.;:!?\n]", text[max(0, found.start() - 80) : found.start()])[-1]
        if not _NEGATION_BEFORE.search(clause):
            return True
    return False
