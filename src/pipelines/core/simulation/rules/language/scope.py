"""Resolves the nouns of a sentence for one tool: arguments, fields of records, values, states, and the
caller.

An ambiguous noun gives two readings; an unknown one ends the reading with the noun and the reason.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import NamedTuple, TypeVar

from pipelines.core.english.words import joined, singular, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.domain.fields import Field
from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.library.dates import moment_of
from pipelines.core.simulation.rules.language.nouns import NounPhrase, is_dated, switch_words
from pipelines.core.simulation.rules.rule import ARGS, GIVEN, REPLY
from pipelines.core.simulation.rules.vocabulary import Keys, Kind, ToolNouns, Vocabulary
from pipelines.core.text.json_text import Json, JsonObject

_DATE_WORDS = word_set("at on date time day deadline")
_CREATED = word_set("created_at created_on created creation_date date_created placed_at ordered_at")
#: Arguments that say who calls, beside the id of the owner's type.
_CALLERS = word_set(
    "requester caller actor requestor requestinguser currentuser asuser requestedby callinguser"
)

_SIMILARITY = 0.8  # how like a known value a word is that is most likely misspelled
T = TypeVar("T")


class CannotResolve(Exception):
    """A noun that means nothing here, or a part that says nothing: which one, and why."""

    def __init__(self, message: str, named: NounPhrase | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.named = named


class BoundValue(NamedTuple):
    """A value that a noun stands for, and what is known of it."""

    expr: Expr
    name: str  # for people: `order.status`
    field: Field | None = None
    schema: JsonObject | None = None

    def texts(self) -> list[str]:
        """The texts it may be, where these are known."""
        listed = self.schema.get("enum") if self.schema else None
        seen = self.field.named_values if self.field else ()
        known: Sequence[Json] = listed if isinstance(listed, list) else seen
        return [value for value in known if isinstance(value, str)]

    def text_called(self, named: NounPhrase) -> str | None:
        return next((one for one in self.texts() if same_name(one, named)), None)

    def may_be(self, kind: str) -> bool:
        """Whether it may be a number, a text: where nothing is known, it may."""
        if self.schema is not None:
            declared = {"string": "text", "integer": "number"}.get(str(self.schema.get("type")), "")
            return (declared or self.schema.get("type", kind)) == kind
        kinds = self.field.kinds - {"null"} if self.field else frozenset()
        return not kinds or kind in kinds

    @property
    def is_date(self) -> bool:
        seen = (
            [one for one in (self.field.named_values or (self.field.example,)) if one] if self.field else []
        )
        if any(isinstance(one, str) for one in seen):
            return all(moment_of(one) is not None for one in seen)
        is_unseen = self.field is None or self.field.kinds <= {"null"}
        is_named_so = words_of(self.name)[-1] in _DATE_WORDS
        return is_named_so and self.may_be("text") and (is_unseen or bool(seen))

    @property
    def is_id(self) -> bool:
        return singular(words_of(self.name)[-1]) in ("id", "uuid")


_NOTHING = BoundValue(m.NULL, "")


@dataclass(slots=True)
class Choices:
    """Which of several meanings each ambiguous noun has in one reading; all readings are gone through."""

    picked: list[int] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    at: int = 0

    def choose(self, options: Sequence[T]) -> T:
        if len(options) == 1:
            return options[0]
        if self.at == len(self.picked):
            self.picked.append(0)
            self.widths.append(len(options))
        self.at += 1
        return options[self.picked[self.at - 1]]

    def next(self) -> bool:
        """On to the next reading; False after the last."""
        while self.picked and self.picked[-1] + 1 == self.widths[-1]:
            self.picked.pop()
            self.widths.pop()
        self.at = 0
        if self.picked:
            self.picked[-1] += 1
        return bool(self.picked)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    vocabulary: Vocabulary
    tool: ToolNouns
    choices: Choices = field(default_factory=Choices)
    it: str | None = None  # the type that `it` and a field without an owner mean
    record: Expr | None = None  # where that record is not simply the call's record of its type
    #: What a field without an owner is first: the record's `own` inside `whose`, `given` where an argument
    #: must be something, `caller` where it says who calls. Elsewhere it may be both, and makes two readings.
    prefers: str = ""
    of: BoundValue = _NOTHING  # what a test or a value is said of
    when: Expr | None = None  # the condition in front of the sentence
    computed: frozenset[str] = frozenset()  # fields of the reply that were worked out before
    part: Keys | None = None  # inside a sum: the list of parts that fields belong to
    in_reply: bool = False  # where the reply itself can be looked at

    def about(self, kind: str, record: Expr | None = None) -> "Scope":
        return replace(self, it=kind, record=record)

    def on(self, named: NounPhrase | None) -> "Scope":
        """For what is said of a record of the named type; of what the call is about where none is named."""
        kind = self.subject if named is None else self.kind(named)
        return self if self.it == kind.name else self.about(kind.name)

    @property
    def subject(self) -> Kind:
        kind = self._about
        if kind is None:
            raise CannotResolve(f"it is not clear which type {self.tool.name} is about: name the type")
        return kind

    @property
    def _about(self) -> Kind | None:
        return self.vocabulary.kinds.get(self.it or self.tool.about or "")

    def kind(self, named: NounPhrase) -> Kind:
        found = self.vocabulary.by_noun.get(joined(named.words), ())
        if not found:
            raise CannotResolve(f"`{named.text}` is not a type of this world", named)
        return self.vocabulary.kinds[self.choices.choose(found)]

    def bound(self, kind: Kind, keys: Keys) -> BoundValue:
        """A field of the record of a type."""
        if kind.name == self.it and self.record is not None:
            record = self.record
        elif kind.name in GIVEN:
            raise CannotResolve(
                f"`{kind.name}` is a reserved word in rules, so they cannot name a record of that type"
            )
        else:
            record = n.Name(kind.name)
        return BoundValue(m.fields(record, *keys), ".".join((kind.name, *keys)), kind.fields.get(keys))

    # -- fields ---------------------------------------------------------------------------------------------

    def owned(self, named: NounPhrase) -> BoundValue:
        """A field of the record that is spoken of."""
        kind = self.subject
        found = [*fields_called(kind, named.words)]
        if not found:
            raise CannotResolve(f"no {kind.name} has a field `{named.text}`", named)
        return self.bound(kind, self.choices.choose(found))

    def argument(self, named: NounPhrase) -> BoundValue:
        name = next((name for name in self.tool.arguments if same_name(name, named)), None)
        if name is None:
            raise CannotResolve(f"{self.tool.name} takes no argument `{named.text}`", named)
        like = self.vocabulary.kinds.get(self.tool.about or "")  # the field that keeps what is given
        field = like.fields.get((name,)) if like is not None else None
        return BoundValue(m.arg(name), name, field, self.tool.arguments[name])

    def plain(self, named: NounPhrase) -> BoundValue:
        """A field without an owner: worked out before, given by the call, or of what the call is about."""
        name = next((one for one in self.computed if same_name(one, named)), None)
        if name is not None:
            return BoundValue(m.path(REPLY, name), name)
        if self.part is not None and (inside := self._inside(named)) is not None:
            return inside
        given = [self.argument(named)] if any(same_name(one, named) for one in self.tool.arguments) else []
        own = [*self._fields_of(self._about, named)]
        is_new = self._about is not None and self.tool.makes == self._about.name and self.prefers != "own"
        own = [] if is_new and given else own  # a record that the call makes has what it gives
        first = {"own": own, "given": given, "caller": given or [*self._callers(named)]}.get(self.prefers, [])
        options = first or [*given, *own]
        options = options or [*self._reachable(named)]
        if not options:
            known = f"an argument of {self.tool.name}"
            raise CannotResolve(f"`{named.text}` is neither {known} nor a field of what it is about", named)
        return self.choices.choose(options)

    def _fields_of(self, kind: Kind | None, named: NounPhrase) -> Iterator[BoundValue]:
        if kind is not None:
            yield from (self.bound(kind, keys) for keys in fields_called(kind, named.words))

    def _callers(self, named: NounPhrase) -> Iterator[BoundValue]:
        """Who calls, by what the field that keeps the owner of a record is called."""
        links = self._about.links.items() if self._about is not None else ()
        owners = (to for keys, to in links if same_name(keys[-1], named))
        yield from (BoundValue(self.caller_id(to), named.text) for to in owners)

    def _reachable(self, named: NounPhrase) -> Iterator[BoundValue]:
        """Of a record that the call names, or that what it is about refers to."""
        linked = self._about.links.values() if self._about is not None else ()
        for name in dict.fromkeys((*(one.kind for one in self.tool.lookups), *linked)):
            yield from self._fields_of(self.vocabulary.kinds.get(name), named)

    def _inside(self, named: NounPhrase) -> BoundValue | None:
        holder = self.subject.fields.get(self.part or ())
        parts = holder.parts if holder is not None else {}
        name = next((one for one in parts if same_name(one, named)), None)
        return None if name is None else BoundValue(m.path("part", name), name, parts[name])

    def path(self, named: NounPhrase) -> BoundValue:
        """`order.user_id`, `args.amount`: as it is spelled."""
        root, *keys = named.words
        if root == ARGS:
            return self.argument(replace(named, words=words_of(keys[0])))
        if root == REPLY:
            if not self.in_reply:
                raise CannotResolve("the reply does not exist yet when the call is checked", named)
            return BoundValue(m.path(REPLY, *keys), named.text)
        kind = self.vocabulary.kinds[self.vocabulary.kind_named(words_of(root)) or root]
        if tuple(keys) not in kind.fields and keys != ["id"]:
            raise CannotResolve(f"no {kind.name} has a field `{'.'.join(keys)}`", named)
        return self.bound(kind, tuple(keys))

    # -- values and states ----------------------------------------------------------------------------------

    def value(self, named: NounPhrase) -> Expr:
        """A word as a value of what is spoken of, in the spelling of the data. One that no record has yet is
        taken as it stands where the values are words and not listed, unless it is nearly one of them or a
        value of another field."""
        known, name, texts = self.of.text_called(named), self.of.name, self.of.texts()
        if known is not None:
            return m.constant(known)
        if not texts or self.of.is_date:
            raise CannotResolve(
                f"{name} is not known to have the value `{named.text}`: put a new text in quotes", named
            )
        is_listed = bool((self.of.schema or {}).get("enum"))
        if is_listed or get_close_matches(named.text, texts, 1, _SIMILARITY) or self._is_of_another(named):
            listed = ", ".join(texts[:6])
            raise CannotResolve(f"`{named.text}` is not a value of {name}, which is one of: {listed}", named)
        return m.constant(named.text)

    def _is_of_another(self, named: NounPhrase) -> bool:
        fields = (one for kind in self.vocabulary.kinds.values() for one in kind.fields.values())
        values = (value for one in fields for value in one.named_values if isinstance(value, str))
        return any(same_name(value, named) for value in values)

    def state(self, named: NounPhrase, *, has_been: bool = False) -> Expr:
        """`shipped`: a value of a field, a yes-or-no field of that name, or a date that is set."""
        options = self.states(named)
        dates = [m.is_given(one.expr) for one in self._dates(named)]
        if has_been and len(options) == 1 and len(dates) == 1:
            return m.any_of(options[0], dates[0])
        if not (options or dates):
            raise CannotResolve(f"no {self.subject.name} of this world can be `{named.text}`", named)
        return self.choices.choose(options or dates)

    def states(self, named: NounPhrase) -> list[Expr]:
        found = []
        for keys, one in self.subject.fields.items():
            place = self.bound(self.subject, keys)
            if (known := place.text_called(named)) is not None:
                found.append(m.is_equal(place.expr, m.constant(known)))
            if "boolean" in one.kinds and joined(named.words) in map(joined, switch_words(keys[-1])):
                found.append(m.is_equal(place.expr, m.TRUE))
        return found

    def _dates(self, named: NounPhrase) -> list[BoundValue]:
        fields = (keys for keys in self.subject.fields if is_dated(keys[-1], named.words))
        return [self.bound(self.subject, keys) for keys in fields]

    def date_of(self, named: NounPhrase) -> BoundValue:
        """The date at which something became so: shipped_at."""
        if not (found := self._dates(named)):
            raise CannotResolve(f"no {self.subject.name} has a date for `{named.text}`", named)
        return self.choices.choose(found)

    def made_at(self) -> BoundValue:
        found = [keys for keys in self.subject.fields if keys[-1] in _CREATED]
        if not found:
            raise CannotResolve(f"no {self.subject.name} has a date of creation: name the date field to use")
        return self.bound(self.subject, self.choices.choose(found))

    # -- who calls ------------------------------------------------------------------------------------------

    def caller_id(self, kind: str) -> Expr:
        """The id of who calls: an argument, or what the session says; `caller()` where nothing does."""
        for name in self.tool.arguments:
            words = words_of(name)
            if joined(words[:-1] if words[-1] == "id" else words) in _CALLERS:
                return m.arg(name)
        own = self.tool.id_argument(kind)
        is_target = self.tool.about == kind and not self.tool.makes
        if own is not None and not is_target:
            return m.arg(own)
        session = self.vocabulary.session
        keys = session.link_to(kind) if session is not None else None
        return m.path(session.name, *keys) if session is not None and keys else m.call("caller")

    def owner_link(self, owner: str | None = None) -> tuple[Expr, str]:
        """The field of the record that says whose it is, and of which type that is."""
        found = [(keys, to) for keys, to in self.subject.links.items() if owner in (None, to)]
        if not found:
            raise CannotResolve(f"no field of {self.subject.name} says whose it is")
        keys, to = self.choices.choose(found)
        return self.bound(self.subject, keys).expr, to


def same_name(name: str, named: NounPhrase) -> bool:
    """Whether a name is the one of the sentence, in any spelling."""
    return joined(words_of(name)) == joined(named.words)


def fields_called(kind: Kind, words: Iterable[str]) -> Iterator[Keys]:
    """Fields of that name, in any spelling; the outermost where an inner one is called the same."""
    name_wanted = joined(words)
    found = [
        keys for keys in kind.fields if name_wanted in (joined(words_of(keys[-1])), joined(_all_words(keys)))
    ]
    nearest = min(map(len, found), default=0)
    yield from (keys for keys in found if len(keys) == nearest)
    if not found and name_wanted == "id":
        yield ("id",)


def _all_words(keys: Keys) -> Iterator[str]:
    return (word for key in keys for word in words_of(key))
