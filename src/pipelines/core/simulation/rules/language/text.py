"""A text into sentences as they are written, and a sentence into tokens."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate
from typing import Literal, TypeAlias

from pipelines.core.english.numbers import SMALL

LONGEST_SENTENCE = 2_000
MOST_TOKENS = 120  # of a sentence: past that it is an essay
MOST_DEEP = 12  # brackets inside brackets
#: A word; a name in snake case, with a dot or in backticks; `mark` is punctuation or an operator.
TokenKind: TypeAlias = Literal["word", "name", "number", "percent", "text", "date", "code", "mark"]


@dataclass(frozen=True, slots=True)
class Token:
    kind: TokenKind
    text: str  # as it is written, without quotes
    low: str  # what the grammar compares
    start: int
    end: int
    number: Decimal | None = None


_PLAIN = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "×": "*"})
DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?")
_SCAN = re.compile(
    rf"""
    (?P<code>`[^`]+`)
  | (?P<text>"[^"]*"|(?<!\w)'[^']*'(?!\w))
  | (?P<date>{DATE.pattern}(?!\w))
  | (?P<percent>\d+(?:\.\d+)?\s?(?:%|percent\b))
  | (?P<number>[$€£]?\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?(?!\w)|[$€£]?\d+(?:\.\d+)?(?!\w))
  | (?P<word>[^\W\d]\w*?n't\b|[^\W\d]\w*(?:\.[^\W\d]\w*)*)
  | (?P<own>'s\b|(?<=s)'(?=\s))
  | (?P<mark><=|>=|==|!=|≤|≥|[^\s\w])
    """,
    re.VERBOSE,
)
_SAME_MARK = {"≤": "<=", "≥": ">=", "==": "="}
_SHORT_FORMS = {"cannot": "can", "can't": "can", "won't": "will", "shan't": "shall"}
# A full stop ends a sentence unless it belongs to an abbreviation, or stands in quotes or backticks.
_ENDS = re.compile(
    r'("[^"]*"|“[^”]*”|`[^`]*`)'
    r"|(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\betc\.)(?<!\bapprox\.)\s+"
)
_BULLET = re.compile(r"\s*(?:[-*•–]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+")


def sentences(text: str) -> list[str]:
    """The sentences as they are written. A line that is only wrapped goes on; a bullet, a heading or a
    capital starts a new one."""
    pieces = (piece.strip() for block in _blocks(text) for piece in _pieces(block))
    return [piece for piece in pieces if re.search(r"\w", piece)]


def sentence_key(sentence: str) -> str:
    """What a sentence is known by in any text: not its blanks, kinds of quotes and dashes, and full stop."""
    return " ".join(sentence.translate(_PLAIN).split()).rstrip(" .;!")


def _blocks(text: str) -> Iterator[str]:
    block = ""
    for line in text.splitlines():
        bullet = _BULLET.match(line)
        rest = line[bullet.end() :].strip() if bullet else line.strip()
        is_whole = not block or block.endswith((".", "!", "?", ":"))
        if rest and not is_whole and not bullet and not rest[0].isupper():
            block = f"{block} {rest}"
            continue
        yield block
        block = rest
    yield block


def _pieces(block: str) -> Iterator[str]:
    start = 0
    for end in _ENDS.finditer(block):
        if end[1] is None:
            yield block[start : end.start()]
            start = end.end()
    yield block[start:]


def tokens(sentence: str, names: Iterable[str] = ()) -> list[Token]:
    """The tokens of one sentence; `names` are tools whose names have a hyphen, which stay whole."""
    body = sentence.translate(_PLAIN)
    spans = [found.span() for name in names for found in re.finditer(re.escape(name), body)]
    found: list[Token] = []
    at = 0
    for start, end in [*sorted(spans), (len(body), len(body))]:
        if start >= at:
            for match in _SCAN.finditer(body, at, start):
                found += _tokens_of(match, sentence[match.start() : match.end()])
            found += [_name(body[start:end], start, end)] if end > start else []
            at = end
    while found and found[-1].low in (".", "!"):
        found.pop()
    return found


def _tokens_of(match: re.Match[str], written: str) -> Iterator[Token]:
    text, (start, end) = match.group(), match.span()
    match match.lastgroup:
        case "code":
            yield _of_code(written[1:-1], start, end)
        case "text":  # quotes inside stay as they are written
            yield Token("text", written[1:-1], "\0text", start, end)
        case "date":
            yield Token("date", text, "\0date", start, end)
        case "percent" | "number" as kind:
            yield Token(kind, text, "\0number", start, end, Decimal(re.sub(r"[^\d.]", "", text)))
        case "word":
            yield from _of_word(text, start, end)
        case "own":
            yield Token("mark", text, "'s", start, end)
        case _:
            neighbours = match.string[start - 1 : start], match.string[end : end + 1]
            if text != "-" or not all(map(str.isalnum, neighbours)):  # else the hyphen of `most-recent`
                yield Token("mark", text, _SAME_MARK.get(text, text), start, end)


def _of_code(text: str, start: int, end: int) -> Token:
    """A name in backticks is that name; anything else there is an expression of the plan language."""
    is_name = re.fullmatch(r"[^\W\d][\w.\-]*", text.strip())
    return _name(text.strip(), start, end) if is_name else Token("code", text, "\0code", start, end)


def _name(text: str, start: int, end: int) -> Token:
    return Token("name", text, text.lower(), start, end)


def _of_word(text: str, start: int, end: int) -> Iterator[Token]:
    low = text.lower()
    if low.endswith("n't") or low in _SHORT_FORMS:
        yield Token("word", text, _SHORT_FORMS.get(low, low.removesuffix("n't")), start, end)
        yield Token("word", text, "not", start, end)
    elif low in SMALL:
        yield Token("number", text, low, start, end, Decimal(SMALL[low]))
    elif "_" in text or "." in text:
        yield _name(text, start, end)
    else:
        yield Token("word", text, low, start, end)


def unreadable(sentence: str, found: Sequence[Token]) -> str | None:
    """Why a sentence is not looked at."""
    if len(sentence) > LONGEST_SENTENCE:
        return f"the sentence is too long: at most {LONGEST_SENTENCE:,} characters are allowed"
    if not found:
        return "the sentence is empty"
    if len(found) > MOST_TOKENS:
        return f"the sentence is too long: at most {MOST_TOKENS} words are allowed, so split it"
    deepest = max(accumulate({"(": 1, ")": -1}.get(token.low, 0) for token in found))
    return (
        (f"the brackets are nested too deeply: at most {MOST_DEEP} levels are allowed")
        if deepest > MOST_DEEP
        else None
    )
