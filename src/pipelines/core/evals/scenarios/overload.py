"""Generates irrelevant context in the form and words of the real input: records of other cases.

They say nothing about the real case. Each has the id of another case, and shares no keys, ids or numbers with
the input. They are made from the input alone, never from what is expected.
"""

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date

from pipelines.core.evals.scenarios.readable import count_tokens, readable
from pipelines.core.text.json_text import Json, JsonObject

MOST_BYTES = 2 * 1024 * 1024  # of one text: more than ten times the largest input in any writing
LONGEST_LABEL = 80  # characters of a text without spaces that is still a word; what is longer is a reference
_NAMES = re.compile(r"(?:^|[_\W])(id|ids|uuid|ref|reference|number|no|email|user|owner|name)$", re.IGNORECASE)
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(.*)", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]{4,20}")
_WHOLE_WORD = re.compile(r"\w+")

_BEFORE_KEYS = ("earlier", "archived", "related", "previous", "logged", "comparable")
_AFTER_LABELS = ("scheduled", "checked", "resumed", "closed", "archived", "pending")
_COMMON_WORDS = ("entry", "status", "request", "review", "handover", "summary")
_SENTENCES = (
    "The remarks on {a} and {b} are kept under {id}.",
    "Case {id} has a note about {a}, added after its review.",
    "For {b} see {id}, where {a} is described in more detail.",
    "The entry on {a} was handed over together with {id}.",
    "A summary of {b} belongs to {id}.",
    "Under {id} there is a list of {a}, sorted by {b}.",
)
#: What a case looks like when the input shows nothing.
_BARE_CASE: JsonObject = {"status": "closed", "summary": "entry on a request, kept for the review"}


def noise(input_context: JsonObject, *, tokens: int, rng_seed: int | str) -> str:
    """Records of other cases, of about so many tokens; the same seed gives the same text."""
    maker = _Maker.of(input_context, random.Random(f"overload/{rng_seed}"))
    lines: list[str] = []
    tokens_left, room = tokens, MOST_BYTES
    while tokens_left > 0 and room > 0:
        for line in maker.case().split("\n"):
            size = count_tokens(line)
            if tokens_left <= 0 or (
                size > tokens_left and tokens_left * 20 < tokens
            ):  # the last twentieth need not be filled
                return "\n".join(lines)
            line = line if size <= tokens_left else _cut(line, tokens_left)
            lines.append(line)
            tokens_left -= size
            room -= len(line.encode())
            if room <= 0:
                break
    return "\n".join(lines)


def _cut(line: str, tokens: int) -> str:
    """The beginning of a line, at a space: no word of it is half of another."""
    words, tokens_left = [], tokens
    for word in re.findall(r"\s*\S+", line):
        tokens_left -= count_tokens(word)
        if tokens_left < 0:
            break
        words.append(word)
    return "".join(words)


@dataclass(kw_only=True, slots=True)
class _Maker:
    """Makes cases like one that was seen, without repeating any of its ids, numbers and keys."""

    shape: JsonObject
    rng: random.Random
    keys: frozenset[str]
    seen: frozenset[str]  # every word and number of the input
    words: tuple[str, ...]  # what its texts speak of
    before_key: str = _BEFORE_KEYS[0]
    renamed: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, input_context: JsonObject, rng: random.Random) -> "_Maker":
        keys, texts = _keys_and_texts(input_context)
        everything = "\n".join([*keys, *texts])
        return cls(
            shape=input_context or _BARE_CASE,
            rng=rng,
            keys=frozenset(keys),
            seen=frozenset(_WHOLE_WORD.findall(everything.casefold())),
            words=_words_of(text for text in texts if " " in text) or _words_of(keys) or _COMMON_WORDS,
        )

    def case(self) -> str:
        self.before_key = self.rng.choice(_BEFORE_KEYS)
        self.renamed.clear()
        letters = "".join(self.rng.choices("BCDFGHJKLMNPQRSTVWXZ", k=2))
        return readable({f"other case {self.new_id(f'{letters}-0000')}": self.like(self.shape, "")})

    def like(self, value: Json, key: str) -> Json:
        match value:
            case dict():
                return {self.other_key(name): self.like(below, name) for name, below in value.items()}
            case list():
                return [self.like(item, key) for item in value]
            case bool():
                return self.rng.random() < 0.5
            case int() | float():
                return self.other_number(value)
            case str():
                return self.other_text(value, key)
        return value

    def other_key(self, key: str) -> str:
        """A key that the input does not have, the same for the same key within one case."""
        if key not in self.renamed:
            self.renamed[key] = self._unused_key(key)
        return self.renamed[key]

    def _unused_key(self, key: str) -> str:
        if any(character.isdigit() for character in key):
            return self.new_id(key[:LONGEST_LABEL])
        name = f"{self.before_key}{' ' if ' ' in key else '_'}{key}"
        while name in self.keys:
            name = f"other_{name}"
        return name

    def other_number(self, value: int | float) -> int | float:
        """Of the same size and kind, but no number of the input."""
        size = max(abs(value), 9)
        for _ in range(20):
            drawn = self.rng.uniform(0.1, 2.0) * size * (-1 if value < 0 else 1)
            other = round(drawn) if isinstance(value, int) else round(drawn, 2)
            if _are_new(str(other), self.seen):
                return other
        return int(self._new_digits())

    def other_text(self, value: str, key: str) -> str:
        day = _DAY.fullmatch(value)
        if day is not None:
            return self._other_day(day[1]) + ("T00:00:00Z" if day[2].startswith("T") else "")
        if len(value.split()) > 1:
            return self._sentences(count_tokens(value))
        named = _NAMES.search(key)
        if "@" in value:
            domain = value.rpartition("@")[2][:LONGEST_LABEL]
            # A domain with a digit in it is a name like any other.
            kept = domain if domain and not _is_name(domain) else "example.org"
            return f"contact-{self._new_digits()}@{kept}"
        if _is_name(value):
            return self.new_id(value[:LONGEST_LABEL])
        if named or len(value) > LONGEST_LABEL:  # by what it is, not by the name that the input gives it
            return f"{named[1].lower() if named else 'REF'}-{self._new_digits()}"
        return (
            self.rng.choice([value, f"{value.split('_')[0]}_{self.rng.choice(_AFTER_LABELS)}"])
            if value
            else value
        )

    def _other_day(self, day: str) -> str:
        try:
            start = date.fromisoformat(day)
        except ValueError:
            start = date(2024, 1, 1)
        for _ in range(50):
            other = date.fromordinal(max(start.toordinal() - self.rng.randint(1, 900), 1)).isoformat()
            if _are_new(other.replace("-", "_"), self.seen) and other not in self.seen:
                return other
        return self.new_id("day-0000")

    def _sentences(self, tokens: int) -> str:
        sentences: list[str] = []
        while tokens > 0:
            a, b = self.rng.sample(self.words, 2)
            sentences.append(self.rng.choice(_SENTENCES).format(a=a, b=b, id=self.new_id("REF-0000")))
            tokens -= count_tokens(sentences[-1])
        return " ".join(sentences)

    def new_id(self, model: str) -> str:
        """Of the form of the model, with digits that the input does not have."""
        digits = 0
        letters = []
        for character in model:
            digits += character.isdigit()
            letters.append(self.rng.choice("123456789") if character.isdigit() else character)
        letters_drawn = "".join(letters)
        if digits < 3 or not _are_new(letters_drawn, self.seen):
            # Too few digits to tell it from the model, or taken: one more part does.
            return f"{re.sub(r'[0-9]', '', letters_drawn).rstrip('-_ ') or 'N'}-{self._new_digits()}"
        return letters_drawn

    def _new_digits(self) -> str:
        how_many = 4
        while True:
            digits = "".join(self.rng.choices("123456789", k=how_many))
            if digits not in self.seen:
                return digits
            how_many += 1


def _words_of(texts: Iterable[str]) -> tuple[str, ...]:
    """What can be spoken of: no part of an id or of an address, and no name, which begins with a capital."""
    spoken = "\n".join(part for text in texts for part in text.split() if not _is_name(part))
    words = {word for word in _WORD.findall(spoken) if word.isalpha() and word.islower()}
    return tuple(sorted(words)) if len(words) > 1 else ()


def _is_name(text: str) -> bool:
    """Whether it names one thing: an id, a number, an address."""
    return "@" in text or any(character.isdigit() for character in text)


def _are_new(text: str, seen: frozenset[str]) -> bool:
    """Whether no word of the text that has a digit is one of the input's."""
    with_digits = [word for word in _WHOLE_WORD.findall(text.casefold()) if any(map(str.isdigit, word))]
    return not any(word in seen for word in with_digits)


def _keys_and_texts(value: Json) -> tuple[list[str], list[str]]:
    """All keys, and all scalars as text. Iterative: the input may be deep."""
    keys: list[str] = []
    texts: list[str] = []
    pending: list[Json] = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            keys.extend(node)
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)
        else:
            texts.append(str(node))
    return keys, texts
