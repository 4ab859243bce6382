"""What refused calls are answered with, taken out of a sentence, and the statements that are left of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.answers import failure
from pipelines.core.simulation.behavior.reader.cursor import Cursor
from pipelines.core.simulation.behavior.reader.phrases import Phrases
from pipelines.core.simulation.behavior.reader.vocabulary import Vocabulary
from pipelines.core.simulation.behavior.tokens import Kind as TokenKind
from pipelines.core.simulation.behavior.tokens import Token

_ANSWERING = word_set(
    "returns return returned gives give gets get getting receives receive yields yield answers answer "
    "answered responds respond replies reply fails fail with by as is are met a an the http status code "
    "error raises raise throws throw produces results result in comes come back see sees then means mean "
    "rejected refused declined denied turned down away answering returning : ( , will be of"
)
_ONLY_ANSWERS = _ANSWERING | word_set(
    "it this that they them he she otherwise else or anything everything any other others all such these "
    "those one ones call calls request requests api backend system server anyone everyone someone attempt "
    "attempts "
    "attempting trying to and if not second further more again doing so response reply for case cases each "
    "every both then longer shorter bigger larger smaller higher lower beyond which who what on another"
)
_SPLIT = frozenset((";", ":", "-"))


@dataclass(frozen=True, kw_only=True)
class Part:
    tokens: tuple[Token, ...]
    is_answered: bool = False


@dataclass(frozen=True, kw_only=True)
class Answered:
    outcome: m.Outcome | None
    named: tuple[str, ...]  # tools that are called by name where nothing else is said
    statements: tuple[Part, ...]


def without_answer(tokens: Sequence[Token], words: Vocabulary, is_cut: bool = True) -> Answered:
    outcome: m.Fail | None = None
    parts: list[Part] = []
    named: list[str] = []
    for piece in _pieces(tokens) if is_cut else _whole(tokens):
        found = _answer_in(piece, words)
        if len(piece) == 1 and piece[0].low in words.lexicon.tools:
            named.append(piece[0].low)  # `transfer_ticket: …`
            continue
        if found is None:
            parts.append(Part(tokens=tuple(piece)))
            continue
        told, start, end = found
        outcome = told if outcome is None else outcome
        left = (*piece[:start], *piece[end:])
        if all(token.low in _ONLY_ANSWERS or token.low in words.lexicon.tools for token in left):
            named += [token.low for token in left if token.low in words.lexicon.tools]
            continue
        parts.append(Part(tokens=left, is_answered=True))
    return Answered(
        outcome=outcome,
        named=tuple(dict.fromkeys(named)),
        statements=tuple(part for part in parts if part.tokens),
    )


def _pieces(tokens: Sequence[Token]) -> list[list[Token]]:
    pieces: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        if token.low == "(":
            depth += 1
            pieces.append([])
        elif token.low == ")":
            depth -= 1
            pieces.append([])
        elif token.low in _SPLIT:
            pieces.append([])
        else:
            pieces[-1].append(token)
    return [piece for piece in pieces if piece]


def _whole(tokens: Sequence[Token]) -> list[list[Token]]:
    """What a semicolon parts, with brackets and colons as commas."""
    comma = Token(kind=TokenKind.MARK, text=",", low=",")
    pieces: list[list[Token]] = [[]]
    for token in tokens:
        if token.low == ";":
            pieces.append([])
        else:
            pieces[-1].append(comma if token.low in ("(", ")", ":", "-") else token)
    return [piece for piece in pieces if piece]


def _answer_in(piece: Sequence[Token], words: Vocabulary) -> tuple[m.Fail, int, int] | None:
    """The error, and the places of the words that tell it."""
    cursor = Cursor(tokens=piece)
    phrases = Phrases(cursor=cursor, words=words)
    for at, token in enumerate(piece):
        is_status = token.kind is TokenKind.NUMBER and token.number is not None and 400 <= token.number <= 599
        is_code = (
            token.kind in (TokenKind.NAME, TokenKind.WORD) and token.text.isupper() and len(token.text) > 3
        )
        is_code = is_code and not (token.low in words.names and token.kind is TokenKind.WORD)  # the IBAN
        before = cursor.low(at - 1)
        counted = cursor.quantity(at) if is_status else None
        if not (is_status or is_code) or (counted is not None and counted[0].unit):
            continue
        found = failure(phrases, at)
        if found is None or (
            is_status and before in ("than", "to", "least", "most", "over", "above", "under", "below")
        ):
            continue
        start = at
        while start > 0 and cursor.low(start - 1) in _ANSWERING:
            start -= 1
        end = found[1]
        while end < len(piece) and cursor.low(end) in (",", "and", "error", "code"):
            following = failure(phrases, end + 1)
            if following is None:
                end += cursor.low(end) in ("error", "code")
                break
            told = found[0]
            found = (
                replace(
                    told, status=told.status or following[0].status, error=told.error or following[0].error
                ),
                following[1],
            )
            end = found[1]
        return found[0], start, end
    return None
