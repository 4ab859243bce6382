"""What the nouns of the grammar match: the names of tools, types, fields, values and states of one world, as
they are spelled or in plain words, and literals.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from pipelines.core.english.inflection import action_nouns, gerunds, parted_forms, past_forms
from pipelines.core.english.numbers import SMALL
from pipelines.core.english.words import joined, singular, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.limits.lazy_property import lazy_property
from pipelines.core.simulation.rules.language.english import GRAMMAR
from pipelines.core.simulation.rules.language.grammar import Find, Match
from pipelines.core.simulation.rules.language.text import Token
from pipelines.core.simulation.rules.vocabulary import Vocabulary, Words
from pipelines.core.text.json_text import Json

Tokens: TypeAlias = Sequence[Token]
Index: TypeAlias = Mapping[str, Mapping[Words, None]]  # phrases in the singular, by their first word
ACTION_FORMS = ("do", "done", "doing", "actions")  # the forms in which a sentence says what a tool does
_LONGEST = 8  # words of a noun
#: What the name of a date may end with that is not said: "shipped" for shipped_at.
DATE_ENDS = word_set("at on date time")
#: Words that open or close a part of a sentence, and so are no error code.
_NO_CODE = SMALL.keys() | word_set(
    "when if unless once while where and or with otherwise for error errors response status until before "
    "after to in the a an is are code message"
)
_NO_NAME = word_set("true false null today now")  # values
CODE = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+|[A-Z][A-Z0-9]{3,}")


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun as it stands in the sentence: its words in the singular, and where."""

    words: Words
    start: int
    end: int
    text: str  # as it is written

    @classmethod
    def of(cls, name: str) -> "NounPhrase":
        return cls(words_of(name), 0, 0, name)


class Literal(NamedTuple):
    value: Json
    start: int
    end: int


class Nouns:
    """The nouns of one world."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    @lazy_property
    def table(self) -> Mapping[str, Find]:
        kinds = self.vocabulary.kinds.values()
        literals = {kind: partial(_literal, kind) for kind in ("number", "percent", "text", "date", "code")}
        return literals | {
            "tool": self._tool,
            "type": _phrases(noun for kind in kinds for noun in kind.nouns),
            "field": _phrases(map(words_of, self._field_names())),
            "state": _phrases(self._states()),
            "role": _phrases(role_of(keys[-1]) for kind in kinds for keys in kind.links),
            "path": self._path,
            "do": self._deed(lambda verb: {verb}),
            "doing": self._deed(
                lambda verb: {*gerunds(verb), *(f for f in parted_forms(verb) if "ing " in f)}
            ),
            "done": self._deed(lambda verb: {*past_forms(verb), *parted_forms(verb)}),
            "actions": self._deed(action_nouns),
            "status": lambda tokens, at: _literal("number", tokens, at) if _is_status(tokens[at]) else (),
            "error": lambda tokens, at: _if(CODE.fullmatch(tokens[at].text), tokens, at),
            "plain": lambda tokens, at: _if(is_plain_code(tokens[at].text), tokens, at),
            "name": _new_name,
            "unknown": self._unknown,
            "newtype": self._new_type,
            "word": lambda tokens, at: (Match(at + 1),) if tokens[at].kind == "word" else (),
        }

    def for_sentence(self, tokens: Tokens) -> Mapping[str, Find]:
        """With names that the sentence itself computes: `tax = 8% of subtotal and total = subtotal + tax`."""
        before = (one for one, after in pairwise(tokens) if after.low == "=" and one.kind in ("word", "name"))
        new, known = _phrases(words_of(one.text) for one in before), self.table["field"]
        return {**self.table, "field": lambda tokens, at: [*known(tokens, at), *new(tokens, at)]}

    def knows(self, tokens: Tokens, at: int) -> bool:
        """Whether some noun begins there."""
        return any(self.table[name](tokens, at) for name in ("tool", "type", "field", "state", *ACTION_FORMS))

    @lazy_property
    def spellings(self) -> tuple[str, ...]:
        """Every word of a noun of this world."""
        kinds = self.vocabulary.kinds.values()
        words = [
            *map(words_of, self._field_names()),
            *self._states(),
            *(noun for one in kinds for noun in one.nouns),
        ]
        return tuple(dict.fromkeys((*self._tool_names, *(word for each in words for word in each))))

    def _field_names(self) -> Iterator[str]:
        yield "id"
        for kind in self.vocabulary.kinds.values():
            for keys, one in kind.fields.items():
                yield from (keys[-1], *(one.parts if one.keeps is not None else ()))
        for tool in self.vocabulary.tools.values():
            yield from (*tool.arguments, *tool.output)

    def _states(self) -> Iterator[Words]:
        for kind in self.vocabulary.kinds.values():
            for keys, one in kind.fields.items():
                yield from (words_of(value) for value in one.named_values if isinstance(value, str) and value)
                yield switch_words(keys[-1])[-1] if "boolean" in one.kinds else ()
                yield words_of(keys[-1])[:-1] if words_of(keys[-1])[-1] in DATE_ENDS else ()

    def _tool(self, tokens: Tokens, at: int) -> Sequence[Match]:
        name = self._tool_names.get(tokens[at].low)
        return () if name is None else (Match(at + 1, (), name),)

    @lazy_property
    def _tool_names(self) -> Mapping[str, str]:
        return {name.lower(): name for name in self.vocabulary.tools}

    def _path(self, tokens: Tokens, at: int) -> Sequence[Match]:
        """`order.user_id`, `args.amount`."""
        root, *keys = tokens[at].text.split(".") if tokens[at].kind == "name" else ("",)
        is_root = root in ("args", "reply") or (root and self.vocabulary.kind_named(words_of(root)))
        return [_noun_match((root, *keys), tokens, at)] if keys and is_root else ()

    def _deed(self, forms: Callable[[str], Iterable[str]]) -> Find:
        """What tools do, by a form of their verbs; what is found has the verb itself for its text."""
        verbs = dict.fromkeys(tool.verb for tool in self.vocabulary.tools.values())
        known = {tuple(form.replace("_", " ").split()): verb for verb in verbs for form in forms(verb)}

        def find(tokens: Tokens, at: int) -> Sequence[Match]:
            lows = tuple(token.low for token in tokens[at : at + 2])
            verbs = ((end, known.get(lows[:end])) for end in range(1, len(lows) + 1))
            return [
                _noun_match((verb,), tokens, at, at + end, verb) for end, verb in verbs if verb is not None
            ]

        return find

    def _unknown(self, tokens: Tokens, at: int) -> Sequence[Match]:
        """A word that is none of the grammar and names nothing here: a value that no record has yet."""
        token = tokens[at]
        is_new = token.kind == "word" and token.low not in GRAMMAR.words and not self.knows(tokens, at)
        return _new_name(tokens, at) if is_new else ()

    def _new_type(self, tokens: Tokens, at: int) -> Sequence[Match]:
        """What records that no world has yet may be called: an audit_entry."""
        is_known = tokens[at].low in GRAMMAR.words or self.table["type"](tokens, at) or self._tool(tokens, at)
        return () if is_known else _new_name(tokens, at)


def _noun_match(
    words: Words, tokens: Tokens, at: int, end: int | None = None, text: str | None = None
) -> Match:
    end = end or at + 1
    named = NounPhrase(
        words, tokens[at].start, tokens[end - 1].end, tokens[at].text if text is None else text
    )
    return Match(end, (), named)


def _phrases(phrases: Iterable[Words]) -> Find:
    """Finds phrases; the last word of one may stand in the plural."""
    index: dict[str, dict[Words, None]] = {}
    for words in phrases:
        if whole := tuple(map(singular, words)):
            index.setdefault(whole[0], {})[whole] = None
    return partial(_find_phrases, index)


def _find_phrases(index: Index, tokens: Tokens, at: int) -> Sequence[Match]:
    words: list[str] = []
    ends: list[int] = []  # which token each word belongs to
    for place in range(at, min(at + _LONGEST, len(tokens))):
        token = tokens[place]
        is_word = token.kind in ("word", "name", "number") and not token.low.startswith("\0")
        if not is_word or (token.kind == "name" and "." in token.text):
            break
        for word in words_of(token.text):
            words.append(singular(word))
            ends.append(place)
    found = []
    for phrase in index.get(words[0], ()) if words else ():
        size = len(phrase)
        is_whole = size == len(ends) or (size < len(ends) and ends[size] != ends[size - 1])
        if tuple(words[:size]) == phrase and is_whole:  # with the whole of its last token
            end = ends[size - 1] + 1
            text = " ".join(dict.fromkeys(token.text for token in tokens[at:end]))
            found.append(_noun_match(phrase, tokens, at, end, text))
    return found


def _new_name(tokens: Tokens, at: int) -> Sequence[Match]:
    """A name that need not be known: of a flag, of a computed field, of a new field."""
    return [_noun_match(words_of(tokens[at].text), tokens, at)] if is_new_name(tokens[at]) else ()


def is_new_name(token: Token) -> bool:
    is_word = token.kind in ("word", "name") and token.low not in _NO_NAME
    return is_word and re.fullmatch(r"[A-Za-z_]\w*", token.text) is not None


def is_plain_code(text: str) -> bool:
    """Behind a status any word is its code: `409 conflict`."""
    return re.fullmatch(r"[A-Za-z]\w*", text) is not None and text.lower() not in _NO_CODE


def role_of(name: str) -> Words:
    words = words_of(name)
    return words[:-1] if words[-1] in ("id", "no", "number", "key") else ()


def switch_words(name: str) -> list[Words]:
    """What a yes-or-no field is called; without its `is` or `has` last."""
    words = words_of(name)
    return [words, words[1:]] if words[0] in ("is", "has") and len(words) > 1 else [words]


def is_dated(name: str, words: Words) -> bool:
    """Whether a field is the date of a state: shipped_at of `shipped`."""
    own = words_of(name)
    return len(own) > 1 and own[-1] in DATE_ENDS and joined(own[:-1]) == joined(words)


def _is_status(token: Token) -> bool:
    return token.number is not None and 400 <= token.number <= 599


def _if(is_so: object, tokens: Tokens, at: int) -> Sequence[Match]:
    token = tokens[at]
    is_word = token.kind in ("word", "name")
    return (Match(at + 1, (), Literal(token.text, token.start, token.end)),) if is_so and is_word else ()


def _literal(kind: str, tokens: Tokens, at: int) -> Sequence[Match]:
    token, value = tokens[at], tokens[at].number
    if token.kind != kind:
        return ()
    plain: Json = token.text if value is None else int(value) if value == int(value) else float(value)
    return (Match(at + 1, (), Literal(plain, token.start, token.end)),)
