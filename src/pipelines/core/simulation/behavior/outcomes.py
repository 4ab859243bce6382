"""What a call answers when a rule stops it: an error with status, word and message, or the record
unchanged.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior.matching import Found, Matcher, Piece, table
from pipelines.core.simulation.behavior.meaning import Fail, Reply, Unchanged
from pipelines.core.simulation.behavior.phrases import constant
from pipelines.core.simulation.behavior.tokens import Kind, Token
from pipelines.core.simulation.behavior.words import snake

STATUS_OF_WORD = {
    "bad request": 400,
    "invalid request": 400,
    "unauthorized": 401,
    "unauthenticated": 401,
    "payment required": 402,
    "forbidden": 403,
    "permission denied": 403,
    "permission": 403,
    "access denied": 403,
    "authorization": 403,
    "not authorized": 403,
    "not found": 404,
    "conflict": 409,
    "gone": 410,
    "precondition failed": 412,
    "validation": 422,
    "unprocessable": 422,
    "unprocessable entity": 422,
    "locked": 423,
    "too many requests": 429,
    "rate limit": 429,
    "rate limited": 429,
    "internal server": 500,
    "service unavailable": 503,
    "timeout": 504,
}
WORD_OF_STATUS = {
    400: "bad_request",
    401: "unauthorized",
    402: "payment_required",
    403: "forbidden",
    404: "not_found",
    405: "not_allowed",
    409: "conflict",
    410: "gone",
    412: "precondition_failed",
    422: "unprocessable",
    423: "locked",
    429: "too_many_requests",
    500: "internal_error",
    501: "not_implemented",
    502: "bad_gateway",
    503: "service_unavailable",
    504: "timeout",
}

_BEFORE = word_set("a an the http status code error response with of type named called errorcode")
_AFTER = word_set("error errors response status code exception failure message")
_SAYING = word_set("saying stating reading message reason text explaining")


@dataclass(frozen=True, slots=True)
class _Heard:
    """What has been heard of a failure so far."""

    status: int | None = None
    error: str | None = None
    message: str | None = None
    is_error: bool = False

    @property
    def is_enough(self) -> bool:
        return self.status is not None or self.error is not None or self.message is not None or self.is_error

    def as_fail(self) -> Fail:
        status = (
            self.status
            if self.status is not None
            else STATUS_OF_WORD.get((self.error or "").replace("_", " "))
        )
        return Fail(status, self.error, self.message)


def failure(matcher: Matcher, at: int) -> Iterator[Found]:
    """`a 409 already_shipped error`, `HTTP 403`, `error 'x'`, `a not found error`; the longest way first."""
    ends: list[Found] = []
    heard, opened = _Heard(), 0
    while (token := matcher.at(at)) is not None:
        step = _hear(matcher, at, token, heard)
        if step is None:
            if token.low == "(" and not opened and heard.is_enough:
                at, opened = at + 1, 1
                continue
            if token.low == ")" and opened:
                at, opened = at + 1, 0
                ends.append((at, heard.as_fail()))
                continue
            break
        at, heard = step
        if heard.is_enough and not opened:
            ends.append((at, heard.as_fail()))
    yield from reversed(ends)


def _hear(matcher: Matcher, at: int, token: Token, heard: _Heard) -> tuple[int, _Heard] | None:
    if token.kind is Kind.NUMBER and token.number is not None and heard.status is None:
        whole = 400 <= token.number <= 599 and token.number == int(token.number)
        return (at + 1, replace(heard, status=int(token.number))) if whole else None
    if token.kind is Kind.TEXT:
        return _hear_quoted(at, token, heard)
    if (
        token.kind is Kind.NAME
        and heard.error is None
        and token.low not in matcher.context.tools
        and "." not in token.text
    ):
        return at + 1, replace(heard, error=token.text)
    named = _named_status(matcher, at)
    if named and heard.error is None:
        return at + len(named.split()), replace(heard, error=snake(named))
    following = matcher.low(at + 1)
    is_last = token.kind is Kind.WORD and following in ("", ")", ";", ",")
    if is_last and heard.status and heard.error is None and token.low not in _NO_CODE:
        return at + 1, replace(heard, error=token.low)
    if token.low in ("error", "exception", "failure"):
        return at + 1, replace(heard, is_error=True)
    if token.low in _BEFORE | _AFTER | _SAYING or _joins(matcher, at, token, heard):
        return at + 1, heard
    return _hear_plain_words(matcher, at, heard)


def _joins(matcher: Matcher, at: int, token: Token, heard: _Heard) -> bool:
    """After a colon or comma a failure goes on only with a message or its word, after `and` with what is
    named.
    """
    following = matcher.at(at + 1)
    if token.low in (":", "-", ","):
        named = following is not None and following.kind is Kind.NAME and "_" in following.text
        return named or (following is not None and following.kind is Kind.TEXT)
    return token.low == "and" and heard.is_enough and matcher.low(at + 1) in ("error", "code", "message")


def _hear_quoted(at: int, token: Token, heard: _Heard) -> tuple[int, _Heard] | None:
    if heard.error is None and re.fullmatch(r"[A-Za-z]\w*", token.text):
        return at + 1, replace(heard, error=token.text)
    return (at + 1, replace(heard, message=token.text)) if heard.message is None else None


def _named_status(matcher: Matcher, at: int) -> str | None:
    for length in (3, 2, 1):
        phrase = " ".join(token.low for token in matcher.tokens[at : at + length])
        if phrase in STATUS_OF_WORD:
            return phrase
    return None


def _hear_plain_words(matcher: Matcher, at: int, heard: _Heard) -> tuple[int, _Heard] | None:
    """`a 409 already shipped error`: up to four plain words before the word error."""
    if heard.error is not None or heard.is_error:
        return None
    for length in (1, 2, 3, 4):
        ahead = matcher.tokens[at : at + length + 1]
        if len(ahead) > length and ahead[length].low in ("error", "exception"):
            taken = ahead[:length]
            if all(token.kind is Kind.WORD and token.low not in _NOT_A_WORD for token in taken):
                return at + length, replace(heard, error="_".join(token.low for token in taken))
    return None


_NOT_A_WORD = word_set("and or if when unless otherwise it returns return the a an any no not is are with")

_NO_CODE = _BEFORE | _AFTER | _SAYING | _NOT_A_WORD

PIECES: dict[str, Piece] = {
    "failure": failure,
    "unchanged": table(
        ("{a} [{noun}] unchanged|untouched|unmodified|unaltered", Unchanged),
        ("(it|them | [the] record) unchanged|untouched|unmodified|unaltered", Unchanged),
    ),
    "payload": table(
        ("{failure}", lambda failure: failure),
        ("{unchanged}", lambda unchanged: unchanged),
        ("[an] empty list|array | no results | nothing", lambda: Reply([])),
    ),
    # A verb phrase that says the call does not do its work: "fails with a 409", "is rejected", "does
    # nothing".
    "failing": table(
        ("{answering} {payload}", lambda payload: payload),
        ("{rejected} (with|as|giving|using | and returns|return) {payload}", lambda payload: payload),
        ("{rejected}", lambda: Fail()),
        ("{idle}", lambda: Unchanged()),
        ("{failure} is|are returned|raised|thrown|given|produced", lambda failure: failure),
    ),
    "answering": table(
        *(
            (pattern, constant(""))
            for pattern in (
                "[will|should|must] "
                "return~|give~|raise~|throw~|yield~|produce~|get~|receive~|emit~|trigger~|cause~",
                "[will|should|must] respond~|answer~|fail~|error~|replies|reply|comes|come [out|back] [with]",
                "[will|should|must] result~ in",
                "[is|are|be|gets] turned|sent away|back|down [with]",
                "leads|lead to",
                "[is|are] met with",
            )
        )
    ),
    "rejected": table(
        *(
            (pattern, constant(""))
            for pattern in (
                "[will|must|should] fail~|error~ [out]",
                "[is|are|be|gets|get] "
                "rejected|refused|denied|declined|blocked|disallowed|prohibited|forbidden",
                "[will|must|should] be rejected|refused|denied|declined|blocked",
                "[will] reject~|refuse~|deny|denies|decline~|block~ [it|them | the "
                "request|call|operation | such requests|calls]",
                "is|are not allowed|permitted|possible|accepted|processed|honored|supported|available|valid",
                "is|are invalid|impossible|unavailable|closed|over|off",
                "does|do|will not work|succeed|go through",
                "can|may|must not be "
                "called|used|invoked|executed|processed|performed|made|done|completed|accepted",
            )
        )
    ),
    "idle": table(
        *(
            (pattern, constant(""))
            for pattern in (
                "does|do nothing",
                "has|have no effect",
                "is|are [a] no op | is|are ignored",
                "leaves|leave|keeps|keep {unchanged}",
                "leaves|leave everything as is",
                "changes|change nothing | makes|make no changes",
            )
        )
    ),
    "otherwise": table(
        *(
            (pattern, constant(""))
            for pattern in (
                "otherwise [,] | or else [,] | else [,] | if not [,] | failing that [,]",
                "in all|any other cases|case [,] | in every other case [,]",
                "for|in any|all|every other status|statuses|state|states [,]",
                "for|in all|any other {noun} [,]",
                "if {subject} is|are not [,]",
                "if this|that|the condition is not met|so|satisfied [,]",
                "in that case [,]",
                "(later|earlier|sooner|more|less) than that [,] | after|beyond|past|before that [,]",
                "in|for any|all|every other state|status|case|{noun} [,] | for anything|everything else [,]",
                "when it is|does not [,]",
            )
        )
    ),
    "answerer": table(
        *(
            (pattern, constant(""))
            for pattern in (
                "it|they|this|that|these|those",
                "everyone|everybody|anyone|anybody|others [else]",
                "bigger|larger|higher|greater|smaller|lower|longer|shorter|later|earlier|further|more "
                "[ones|values|amounts|requests|attempts|{noun}|{action}]",
                "any|every|a|the [further|later|second|third|other] {noun}|{action}|one",
                "{gerund} [it | them | [yet] another [one] | {a} {ordinal} [one|{noun}] | {a} {noun}] "
                "[again|twice]",
                "{a} {ordinal} {action}|{noun}|one|attempt|request|call",
                "[the] tool|call|request|operation|api|backend|system|server|attempt",
                "{who}",
                "anything|everything else | [all|any] others | any|all|every other {noun} | any|all "
                "other status|state|value",
                "other {noun}",
                "such {noun}",
            )
        )
    ),
    # What follows a rule that says when a call succeeds.
    "ordinal": table(
        (
            "second|third|fourth|fifth|sixth|next|further|later|additional|extra|new|repeat|repeated",
            constant(""),
        ),
    ),
    "else": table(
        ("[{sep}] {otherwise} [{answerer}] {failing}", lambda failing: failing),
        ("[{sep}] {otherwise} {payload}", lambda payload: payload),
        ("[{sep}] or [{answerer}] {failing}", lambda failing: failing),
        ("[{sep}] [and|or] [{answerer}] {failing} {otherwise}", lambda failing: failing),
    ),
    # What follows a rule that says when a call fails.
    "with": table(
        ("‹ {payload} ›", lambda payload: payload),
    ),
    "sep": table((",|;|-|:", constant("")), (", and|but", constant("")), ("and|but", constant(""))),
}
