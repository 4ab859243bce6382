"""Behaviour text into sentences, and a sentence into tokens.

Sentences keep the author's own spelling, since one that is not understood is reported verbatim.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from pipelines.core.english.numbers import SMALL
from pipelines.core.english.words import word_set

_NUMBERS = SMALL | {"hundred": 100}


class Kind(StrEnum):
    WORD = "word"
    NAME = "name"  # an identifier: `order.user_id`, `shippedAt`, anything in backticks, a tool's name
    NUMBER = "number"  # `10`, `$1,000.50`, `ten`
    PERCENT = "percent"  # `8%`
    TEXT = "text"  # quoted
    DATE = "date"  # an ISO date
    MARK = "mark"  # punctuation and operators


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    kind: Kind
    text: str  # as written, without quotes
    low: str  # lower case, what patterns compare
    number: Decimal | None = None

    def is_word(self) -> bool:
        return self.kind in (Kind.WORD, Kind.NAME)


# Words that change nothing about what a rule says: dropped wherever they stand.
FILLER = word_set(
    "also still currently simply immediately automatically strictly therefore hence thus additionally "
    "furthermore moreover yet already successfully explicitly actually itself instead both "
    "simultaneously anymore"
)
# Ways of saying one thing that no rule tells apart.
_SAME: tuple[tuple[tuple[str, ...], str], ...] = tuple(
    (tuple(said.split()), plain)
    for said, plain in (
        ("solely", "only"), ("exclusively", "only"), ("no one", "nobody"), ("every time", "when"),
        ("each time", "when"), ("whenever", "when"), ("at any one time", "at a time"), ("in question", ""),
    )
)  # fmt: skip
# Two words that change nothing, where no third one goes with them ("any more than …").
_FILLERS = (("any", "more"), ("at", "all"), ("any", "longer"))
_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_CONTRACTIONS = {
    "cannot": "can not",
    "can't": "can not",
    "won't": "will not",
    "it's": "it is",
    "that's": "that is",
}
_SUBJECT_WORDS = ("that", "it", "who", "there", "which", "what", "he", "she")
_QUOTES = str.maketrans(
    {
        "‘": "'",
        "’": "'",
        "“": '"',
        "”": '"',
        "–": "-",
        "—": "-",
        "×": "*",
        "≥": "\x01",
        "≤": "\x02",
        "→": ":",
        "⇒": ":",
    }
)

_SCAN = re.compile(
    r"""
    (?P<code>`[^`]+`)
  | (?P<quoted>"[^"]*"|(?<![\w])'[^']+'(?!\w))
  | (?P<date>\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?(?!\w))
  | (?P<percent>\d+(?:\.\d+)?\s?(?:%|percent\b))
  | (?P<number>[$€£]?\s?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w])|[$€£]?\d+(?:\.\d+)?(?![\w.]\w)(?!\w))
  | (?P<word>[A-Za-z]+?n't\b|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\])*(?:'re|'ve)?)
  | (?P<possessive>'s\b|(?<=s)'(?=\s))
  | (?P<mark><=|>=|==|!=|&&|\|\||\x01|\x02|[-+*/=<>()\[\],;:#])
  | (?P<space>\s+)
  | (?P<other>.)
    """,
    re.VERBOSE,
)
_MARKS = {"\x01": ">=", "\x02": "<=", "&&": "and", "||": "or", "==": "=", "[": "(", "]": ")"}

# A full stop ends a sentence unless it belongs to an abbreviation.
_ENDS = re.compile(r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\betc\.)(?<!\bapprox\.)\s+")


def sentences(text: str) -> list[str]:
    """The text's sentences as written. A hard-wrapped line goes on; a bullet, a heading or a capital
    starts anew.
    """
    found: list[str] = []
    for block in _blocks(text):
        for piece in _ENDS.split(block):
            if re.search(r"\w", piece):
                found.append(piece.strip())
    return found


def _blocks(text: str) -> Iterable[str]:
    """Lines, joined again where a line was only wrapped."""
    block = ""
    for line in text.splitlines():
        bullet = re.match(r"\s*(?:[-*•–]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+", line)
        rest = line[bullet.end() :].strip() if bullet else line.strip()
        wraps = (
            block
            and rest
            and not bullet
            and not block.endswith((".", "!", "?", ":"))
            and not rest[0].isupper()
        )
        if wraps:
            block = f"{block} {rest}"
            continue
        yield block
        block = rest
    yield block


def tokens(sentence: str, names: Iterable[str] = ()) -> list[Token]:
    """The tokens of one sentence; `names` are identifiers to keep whole (tools whose names have a hyphen)."""
    body = sentence.translate(_QUOTES).strip().rstrip(".!").strip()
    for name in sorted((name for name in names if "-" in name), key=len, reverse=True):
        body = re.sub(rf"(?<![\w`-]){re.escape(name)}(?![\w`-])", f"`{name}`", body)
    found = [token for match in _SCAN.finditer(body) for token in _tokens_of(match)]
    heard = _without_fillers([token for token in found if token.low not in FILLER])
    return _with_written_dates(_in_plain_words(heard))


def _in_plain_words(found: list[Token]) -> list[Token]:
    out: list[Token] = []
    at = 0
    while at < len(found):
        for said, plain in _SAME:
            if tuple(token.low for token in found[at : at + len(said)]) == said:
                out += [Token(kind=Kind.WORD, text=word, low=word) for word in plain.split()]
                at += len(said)
                break
        else:
            out.append(found[at])
            at += 1
    return out


def _without_fillers(found: list[Token]) -> list[Token]:
    lows = [*(token.low for token in found), "", ""]
    kept: list[Token] = []
    at = 0
    while at < len(found):
        fills = (lows[at], lows[at + 1]) in _FILLERS and lows[at + 2] in (
            "",
            ",",
            ";",
            ":",
            "(",
            "and",
            "if",
            "when",
        )
        kept += [] if fills else [found[at]]
        at += 2 if fills else 1
    return kept


def _tokens_of(match: re.Match[str]) -> list[Token]:
    kind, text = match.lastgroup, match.group()
    match kind:
        case "code":
            return _of_code(text[1:-1].strip())
        case "quoted":
            return [Token(kind=Kind.TEXT, text=text[1:-1], low="\0text")]
        case "date":
            return [Token(kind=Kind.DATE, text=text, low="\0date")]
        case "percent":
            amount = Decimal(re.match(r"[\d.]+", text).group())  # type: ignore[union-attr]
            return [Token(kind=Kind.PERCENT, text=text, low="\0percent", number=amount)]
        case "number":
            return [_number(text, Decimal(re.sub(r"[^\d.]", "", text)))]
        case "word":
            return _of_word(text)
        case "possessive":
            before = match.string[: match.start()].rpartition(" ")[2].lower()
            if before in _SUBJECT_WORDS:  # that's, it's, who's
                return [Token(kind=Kind.WORD, text="is", low="is")]
            return [Token(kind=Kind.MARK, text=text, low="'s")]
        case "mark":
            return _of_mark(_MARKS.get(text, text), match)
        case "space":
            return []
    # Anything else (an emoji, a stray sign) is kept: no pattern takes it, so it cannot be skipped unseen.
    return [Token(kind=Kind.MARK, text=text, low=text)]


def _of_code(text: str) -> list[Token]:
    if re.fullmatch(r"[\w.\-\[\]]+", text) and not re.fullmatch(r"[\d.]+", text):
        return [Token(kind=Kind.NAME, text=text, low=text.lower())]
    return [token for match in _SCAN.finditer(text) for token in _tokens_of(match)]


def _of_word(text: str) -> list[Token]:
    low = text.lower()
    plain = _CONTRACTIONS.get(low, low.removesuffix("n't") + " not" if low.endswith("n't") else "")
    if plain:
        return [Token(kind=Kind.WORD, text=part, low=part) for part in plain.split()]
    if low in _NUMBERS:
        return [_number(text, Decimal(_NUMBERS[low]))]
    is_name = re.search(r"[_.\[]|[a-z][A-Z]", text) is not None
    return [Token(kind=Kind.NAME if is_name else Kind.WORD, text=text, low=low)]


def _number(text: str, value: Decimal) -> Token:
    low = text.lower() if text[0].isalpha() else "\0number"  # patterns may name `zero` and `one`
    return Token(kind=Kind.NUMBER, text=text, low=low, number=value)


def _of_mark(mark: str, match: re.Match[str]) -> list[Token]:
    body, start, end = match.string, match.start(), match.end()
    # A hyphen inside `most-recent` joins two words; one with spaces around it is a dash or a minus.
    if mark == "-" and body[start - 1 : start].isalnum() and body[end : end + 1].isalnum():
        return []
    if mark in ("and", "or"):
        return [Token(kind=Kind.WORD, text=mark, low=mark)]
    return [Token(kind=Kind.MARK, text=mark, low=mark)]


def _with_written_dates(found: list[Token]) -> list[Token]:
    """`January 5, 2026` and `5 January 2026` as one date token."""
    out: list[Token] = []
    at = 0
    while at < len(found):
        taken, date = _written_date(found[at : at + 4])
        out.append(Token(kind=Kind.DATE, text=date, low="\0date") if taken else found[at])
        at += taken or 1
    return out


def _written_date(window: list[Token]) -> tuple[int, str]:
    parts = [token for token in window if token.low != ","]
    if len(parts) < 3:
        return 0, ""
    first, second, year = parts[0], parts[1], parts[2]
    month, day = (first, second) if first.kind is Kind.WORD else (second, first)
    number = next((at for at, name in enumerate(_MONTHS, 1) if month.low in (name, name[:3])), 0)
    if not number or day.number is None or year.number is None or not 1900 < year.number < 2200:
        return 0, ""
    if not 1 <= day.number <= 31:
        return 0, ""
    taken = window.index(year) + 1
    return taken, f"{int(year.number):04d}-{number:02d}-{int(day.number):02d}"
