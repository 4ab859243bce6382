"""What a refused call is answered with, and the end of a sentence that says so."""

from collections.abc import Iterator

from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.grounded.phrases import Phrases
from pipelines.core.simulation.behavior.tokens import Kind as TokenKind

_AROUND = word_set("a an the http status error code with and , / - : of response named message instead by")
ANSWERING = word_set(
    "returns return returned gives give gets get receives receive yields yield answers answer answered "
    "responds respond replies reply says say fails fail is are be will rejected refused declined denied "
    "turned down away met result results in comes come back told raises raise throws throw means mean "
    "blocked then"
)
_GENERIC = word_set(
    "the a an any every other others else anyone everyone anybody everybody anything api backend system "
    "server service call request requests tool response reply answer it they them this that those these "
    "such ones one another second third fourth further duplicate attempt attempts more later earlier "
    "bigger larger higher longer rest caller younger older shorter asking filing trying smaller lower "
    "anything who which what in all cases case again so and on for desk app user users to must we"
)
_OTHERWISE = (
    "otherwise", "or else", "else", "if not", "after that", "past that", "beyond that", "before that",
    "afterwards", "in that case", "then", "or", "failing that", "later than that", "earlier than that",
)  # fmt: skip
_SEPARATORS = (", and", "; and", ", but", ", so", ",", ";", ":", "-")


def failure(phrases: Phrases, at: int) -> tuple[m.Fail, int] | None:
    """`409 with code CLASS_FULL`, `403 / CUSTOMER_BLOCKED`, `error code X`, `422`."""
    cursor = phrases.cursor
    status: int | None = None
    code: str | None = None
    ended = at
    while at < cursor.end:
        token = cursor.tokens[at]
        number = token.number if token.kind is TokenKind.NUMBER else None
        if number is not None and status is None and 400 <= number <= 599:
            status, ended = int(number), at + 1
        elif code is None and _is_code(phrases, at, status is not None):
            code, ended = token.text, at + 1
        elif token.low not in _AROUND:
            break
        elif token.low in ("error", "code", "status", "response") and (status or code):
            ended = at + 1
        at += 1
    return (m.Fail(status, code), ended) if status is not None or code is not None else None


def _is_code(phrases: Phrases, at: int, has_status: bool) -> bool:
    token = phrases.cursor.tokens[at]
    if token.low in phrases.words.lexicon.tools:
        return False
    if token.kind is TokenKind.NAME:
        return has_status or token.text.isupper() or phrases.cursor.low(at - 1) in ("code", "error", "with")
    if token.kind is TokenKind.TEXT:
        return bool(token.text) and token.text.replace("_", "").isalnum()
    is_last = phrases.cursor.low(at + 1) in ("", ")", ";", ",")
    if token.kind is TokenKind.WORD and token.text.isupper() and len(token.text) > 3:
        return True
    return has_status and token.kind is TokenKind.WORD and is_last and token.low not in _AROUND | ANSWERING


def tail(phrases: Phrases, at: int) -> Iterator[tuple[m.Fail, int]]:
    """The rest of a sentence that only says what a refused call is answered with."""
    cursor = phrases.cursor
    if cursor.low(at) == "(":
        found = failure(phrases, at + 1)
        if found is not None and cursor.low(found[1]) == ")":
            yield found[0], found[1] + 1
        return
    for start in dict.fromkeys((cursor.after(at, *_SEPARATORS) or at, at)):
        yield from _answer(phrases, start)


def _answer(phrases: Phrases, at: int) -> Iterator[tuple[m.Fail, int]]:
    cursor = phrases.cursor
    at = cursor.after(at, *_OTHERWISE) or at
    at += cursor.low(at) in (",", ":")
    while at < cursor.end and _is_generic(phrases, at):
        at += 1
    at = cursor.past(at, ANSWERING)
    found = failure(phrases, at)
    if found is not None:
        end = found[1]
        later = cursor.after(end, "otherwise", "instead", "for it", "for them")
        yield found[0], later or end


_ELSE = word_set("else other others rest anything everything")
_OPEN = word_set(
    "everyone everybody anyone anybody anything everything else other others the rest all any may can "
    "could is are be go to still always anywhere free fine okay ok exempt from this that rule it do so "
    "allowed possible accepted unaffected enough of kind for at time and with as they like"
)


def allows_the_rest(phrases: Phrases) -> bool:
    """`Everyone else may go anywhere`: what was not forbidden is allowed. Each word is of that, or names a
    thing or a deed; a state would make it an exception to the rule before.
    """
    cursor = phrases.cursor
    spoken = set(cursor.lows)
    if cursor.end > 12 or not spoken & _ELSE or spoken & {"not", "only", "no", "never", "must"}:
        return False
    if not spoken & {"may", "can", "is", "are"} or any(token.number is not None for token in cursor.tokens):
        return False
    return all(_is_open(phrases, at) for at in range(cursor.end))


def _is_open(phrases: Phrases, at: int) -> bool:
    said = phrases.cursor.words(at, at + 1)
    if phrases.cursor.low(at) in _OPEN:
        return True
    return bool(said) and bool(phrases.words.kinds_named(said) or phrases.words.deeds_of(said[0]))


def _is_generic(phrases: Phrases, at: int) -> bool:
    """A word for the call, for whoever calls, or for what the tools do; none that adds a condition."""
    token = phrases.cursor.tokens[at]
    if token.low in ANSWERING or (failure(phrases, at) is not None and token.low not in _AROUND):
        return False
    if token.low in _GENERIC or token.low in phrases.words.lexicon.tools:
        return True
    said = phrases.cursor.words(at, at + 1)
    return bool(said) and bool(phrases.words.kinds_named(said) or phrases.words.deeds_of(said[0]))
