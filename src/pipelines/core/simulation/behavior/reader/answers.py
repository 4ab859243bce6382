"""What a call that a rule stops is answered with: an error with status, code and message, the record as it
is, an empty list; and the end of a sentence that says so.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pipelines.core.english.words import singular, word_set
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.phrases import Phrases
from pipelines.core.simulation.behavior.statuses import STATUS_OF_WORD
from pipelines.core.simulation.behavior.tokens import Kind as TokenKind
from pipelines.core.simulation.behavior.tokens import Token

_AROUND = word_set(
    "a an the http status error code with and , / - : of response named message instead by saying type"
)
_CLOSING = word_set("error errors code status response exception message")
ANSWERING = word_set(
    "returns return returned gives give gets get receives receive yields yield answers answer answered "
    "responds respond replies reply says say fails fail is are be will rejected refused declined denied "
    "turned down away met result results in comes come back told raises raise throws throw means mean "
    "sent returning giving answering yielding blocked then as reject rejects refuses refuse "
    "both sees see should must produces produce triggers"
)
_GENERIC = word_set(
    "the a an any every other others else anyone everyone anybody everybody anything api backend system "
    "server service call calls request requests tool response reply answer it they them this "
    "that those these "
    "such ones one another second third fourth further duplicate attempt attempts more later earlier "
    "bigger larger higher longer rest caller younger older shorter asking filing trying smaller lower "
    "anything who which what in all cases case again so and on for desk app user users to must we state "
    "status states statuses outcome outside range leaving out without violations either from such next new "
    "extra additional someone people of with failing trying taken used use exists exist known "
    "tries try whose up "
    "are already"
)
_OTHERWISE = (
    "otherwise", "or else", "else", "if not", "in any other state", "in any other case",
    "in all other cases", "in every other case", "for any other status", "in all other states",
    "after that", "past that", "beyond that", "before that", "afterwards", "in that case", "then", "or",
    "after which", "beyond which", "from then on", "before then", "below that", "above that", "over that",
    "outside that range", "until then", "without it", "leaving it out", "failing which", "over which",
    "for which", "in either case", "from that moment", "in any other status", "failing that",
    "later than that", "earlier than that", "is taken", "are taken", "is in use", "are in use",
    "in use", "is used",
    "is known", "is registered", "is there",
)  # fmt: skip
_LONGER = tuple(phrase for phrase in _OTHERWISE if " " in phrase)
_SEPARATORS = (", and", "; and", ", but", ", so", ",", ";", ":", "-", "and")
_AS_IT_IS = ("unchanged", "untouched", "unmodified", "unaltered", "as it is", "as is")
_IDLE = (
    "does nothing", "do nothing", "has no effect", "have no effect", "is a no op", "are a no op",
    "is no op", "is ignored", "are ignored", "changes nothing", "change nothing", "makes no changes",
)  # fmt: skip
_CLOSED = (
    "otherwise", "instead", "for it", "for them", "if not", "in that case", "in every other case",
    "in all other cases", "in any other case", "for all others", "for any other", "beyond that", "after that",
)  # fmt: skip
_NO_WORDS = word_set("and or if when unless otherwise it returns return the a an any no not is are with")


@dataclass(frozen=True, kw_only=True)
class _Heard:
    status: int | None = None
    code: str | None = None
    message: str | None = None
    is_error: bool = False
    is_plain: bool = False  # the code is a usual word for a status, which a code of the author's own replaces

    @property
    def fail(self) -> m.Fail | None:
        if self.status is None and self.code is None and self.message is None and not self.is_error:
            return None
        return m.Fail(self.status, self.code, self.message)


def failure(phrases: Phrases, at: int) -> tuple[m.Fail, int] | None:
    """`409 with code CLASS_FULL`, `403 / CUSTOMER_BLOCKED`, `a 409 already shipped error`, `422`."""
    cursor = phrases.cursor
    heard, ended, opened = _Heard(), at, False
    while at < cursor.end:
        token = cursor.tokens[at]
        if token.low == "(" and heard.fail is not None and not opened:
            opened, at = True, at + 1
            continue
        if token.low == ")" and opened:
            opened, at, ended = False, at + 1, at + 1
            continue
        taken = _heard(phrases, at, heard)
        if taken is not None:
            heard, at = taken
            ended = at
            continue
        if token.low not in _AROUND and not (token.low in _CLOSING and heard.fail is not None):
            break
        at += 1
        if token.low in _CLOSING and heard.fail is not None:
            ended = at
    found = heard.fail
    return (found, ended) if found is not None and not opened else None


def _heard(phrases: Phrases, at: int, heard: _Heard) -> tuple[_Heard, int] | None:
    token = phrases.cursor.tokens[at]
    number = token.number if token.kind is TokenKind.NUMBER else None
    if number is not None and heard.status is None and 400 <= number <= 599 and number == int(number):
        return replace(heard, status=int(number)), at + 1
    if (heard.code is None or heard.is_plain) and _is_code(phrases, at, heard.status is not None):
        return replace(heard, code=token.text, is_plain=False), at + 1
    if heard.message is None and token.kind is TokenKind.TEXT and token.text:
        return replace(heard, message=token.text), at + 1
    if heard.code is None and (named := _words_for_error(phrases, at)) is not None:
        return replace(heard, code=named[0], is_plain=named[0].replace("_", " ") in STATUS_OF_WORD), named[1]
    if token.low in ("error", "exception") and not heard.is_error:
        return replace(heard, is_error=True), at + 1
    return None


def _words_for_error(phrases: Phrases, at: int) -> tuple[str, int] | None:
    """`not found`, `conflict`; and up to four plain words before the word error: `already shipped error`."""
    cursor = phrases.cursor
    for length in (3, 2, 1):
        said = cursor.lows[at : at + length]
        if " ".join(said) in STATUS_OF_WORD and len(said) == length:
            return "_".join(said), at + length
    for length in (1, 2, 3, 4):
        if cursor.low(at + length) in ("error", "exception"):
            said = cursor.words(at, at + length)
            plain = all(token.kind is TokenKind.WORD for token in cursor.tokens[at : at + length])
            if len(said) == length and plain and not _NO_WORDS & set(said) and not set(said) & _AROUND:
                return "_".join(said), at + length
            return None
    return None


def _is_code(phrases: Phrases, at: int, has_status: bool) -> bool:
    token: Token = phrases.cursor.tokens[at]
    if token.low in phrases.words.lexicon.tools or "." in token.text or token.low in _AROUND:
        return False
    if token.kind is TokenKind.NAME:
        near = phrases.cursor.low(at - 1), phrases.cursor.low(at + 1)
        return has_status or token.text.isupper() or bool(set(near) & {"code", "error", "with"})
    if token.kind is TokenKind.TEXT:
        return bool(token.text) and token.text.replace("_", "").isalnum()
    is_last = phrases.cursor.low(at + 1) in ("", ")", ";", ",")
    if token.kind is TokenKind.WORD and token.text.isupper() and len(token.text) > 3:
        return True
    return has_status and token.kind is TokenKind.WORD and is_last and token.low not in _AROUND | ANSWERING


def outcome(phrases: Phrases, at: int) -> tuple[m.Outcome, int] | None:
    """What is returned: an error, the record as it is, or nothing."""
    cursor = phrases.cursor
    empty = cursor.after(at, "an empty list", "an empty array", "an empty result", "no results", "nothing")
    if empty is not None:
        return m.Reply([]), empty
    start = cursor.past(at, word_set("the its a an"))
    said = cursor.words(start, start + 1)
    if said and (said[0] in ("it", "them", "record") or phrases.words.kinds_named(said)):
        end = cursor.after(start + 1, *_AS_IT_IS)
        if end is not None:
            return m.Unchanged(), end
    return failure(phrases, at)


def idle(phrases: Phrases, at: int) -> int | None:
    """Past `does nothing`, `has no effect`, `leaves the order unchanged`."""
    cursor = phrases.cursor
    end = cursor.after(at, *_IDLE)
    if end is None and cursor.low(at) in ("leaves", "leave", "keeps", "keep"):
        found = outcome(phrases, at + 1)
        end = found[1] if found is not None and found[0] == m.Unchanged() else None
    return end


def answered(phrases: Phrases, at: int) -> tuple[m.Outcome, int] | None:
    """A verb that answers, and with what: `returns a 409`, `answers with 403`, `fails with 422 too_late`."""
    cursor = phrases.cursor
    stopped = idle(phrases, at)
    if stopped is not None:
        return m.Unchanged(), stopped
    start = cursor.past(at, ANSWERING)
    if start == at:
        return None
    return outcome(phrases, start + (cursor.low(start) == "with"))


def tail(phrases: Phrases, at: int) -> Iterator[tuple[m.Outcome, int]]:
    """The rest of a sentence that only says what a refused call is answered with."""
    cursor = phrases.cursor
    if cursor.low(at) == "(":
        found = failure(phrases, at + 1)
        if found is not None and cursor.low(found[1]) == ")":
            yield found[0], found[1] + 1
        return
    for start in dict.fromkeys((cursor.after(at, *_SEPARATORS) or at, at)):
        yield from _answer(phrases, start)


def _answer(phrases: Phrases, at: int) -> Iterator[tuple[m.Outcome, int]]:
    cursor = phrases.cursor
    at = cursor.after(at, *_OTHERWISE) or at
    at += cursor.low(at) in (",", ":")
    while at < cursor.end:
        again = cursor.after(at, *_LONGER)
        is_in = cursor.low(at) == "in" and cursor.low(at + 1) in ("any", "all", "either")
        if again is None and not is_in and not _is_generic(phrases, at):
            break
        at = again or at + 1
    start = cursor.past(at, ANSWERING)
    found = (outcome if start > at else failure)(phrases, start)
    if found is None and start > at and cursor.low(start) in ("them", "him", "her", "you"):
        found = failure(phrases, start + 1)
    if found is not None:
        end = cursor.past(found[1], word_set("is are returned given raised thrown"))
        later = cursor.after(end, *_CLOSED)
        yield found[0], later or end


_ELSE = word_set("else other others rest anything everything")
_OPEN = word_set(
    "everyone everybody anyone anybody anything everything else other others the rest all any may can "
    "could is are be go to still always anywhere free fine okay ok exempt from this that rule it do so "
    "allowed possible accepted unaffected enough of kind for at time and with as they like"
)


def allows_the_rest(phrases: Phrases, at: int = 0, to: int | None = None) -> bool:
    """`Everyone else may go anywhere`: what was not forbidden is allowed. Each word is of that, or names a
    thing or a deed; a state would make it an exception to the rule before.
    """
    cursor = phrases.cursor
    end = cursor.end if to is None else to
    spoken = set(cursor.lows[at:end])
    if end - at > 12 or not spoken & _ELSE or spoken & {"not", "only", "no", "never", "must"}:
        return False
    if not spoken & {"may", "can", "is", "are", "go"} or any(
        one.number is not None for one in cursor.tokens[at:end]
    ):
        return False
    return all(_is_open(phrases, place) for place in range(at, end))


def denies_the_rest(phrases: Phrases, at: int, to: int) -> bool:
    """`but not later than that`, `other durations are not offered`: what a limit says already."""
    cursor = phrases.cursor
    spoken = set(cursor.lows[at:to])
    if not 1 < to - at <= 8 or not spoken & {"not", "no", "never", "nowhere"} or spoken & {"only", "must"}:
        return False
    if not spoken & (_ELSE | {"that", "before", "after", "afterwards", "later", "earlier", "elsewhere"}):
        return False
    if any(token.number is not None or token.kind is TokenKind.NAME for token in cursor.tokens[at:to]):
        return False
    return all(
        _is_open(phrases, place) or cursor.low(place) in _DENYING or cursor.low(place - 1) == "other"
        for place in range(at, to)
    )


_DENYING = word_set(
    "but not no never nowhere later earlier than before after afterwards offered allowed "
    "accepted permitted possible "
    "there elsewhere sooner more less further by"
)


def _is_open(phrases: Phrases, at: int) -> bool:
    said = phrases.cursor.words(at, at + 1)
    if phrases.cursor.low(at) in _OPEN:
        return True
    is_name = bool(said) and singular(said[0]) in phrases.words.names
    return is_name or (
        bool(said) and bool(phrases.words.kinds_named(said) or phrases.words.deeds_of(said[0]))
    )


def _is_generic(phrases: Phrases, at: int) -> bool:
    """A word for the call, for whoever calls, or for what the tools do; none that adds a condition."""
    token = phrases.cursor.tokens[at]
    if token.low in ANSWERING or (failure(phrases, at) is not None and token.low not in _AROUND):
        return False
    if token.low in _GENERIC or token.low in phrases.words.lexicon.tools:
        return True
    said = phrases.cursor.words(at, at + 1)
    if not said:
        return False
    if singular(said[0]) in phrases.words.names:  # `other amounts`, `scores`: alone they ask for nothing
        return True
    return bool(phrases.words.kinds_named(said) or phrases.words.deeds_of(said[0]))
