"""What words may stand for in this world: kinds of things, their fields and states, and what tools do.

Looking up only: every answer is something the world, a schema or a tool's own words hold.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TypeVar

from pipelines.core.english.inflection import IRREGULAR, action_nouns, parted_forms
from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.english.words import joined, singular, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.json_text import Json
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.lexicon import Lexicon
from pipelines.core.simulation.behavior.things import (
    USUAL_FIELDS,
    Kind,
    Path,
    ToolLike,
    ToolWords,
    find_argument,
    find_field,
)
from pipelines.core.simulation.behavior.words import PERSONS, SAME_VERBS

_Found = TypeVar("_Found")
PARTICLES = word_set("up over off out back in down away on")
_NOT_VERBS = word_set("a an the all every each this that items list lists returns return gives shows")
_FOLK = PERSONS | word_set(
    "worker rep vet trainer instructor doctor nurse technician teacher applicant candidate participant "
    "volunteer donor resident visitor player courier host attendee holder guardian user people"
)
#: Fields that only persons have.
_OF_PERSONS = word_set("age birth_date date_of_birth birthday first_name last_name")
#: Words for anybody at all.
ANYBODY = word_set("anyone anybody someone somebody everyone everybody person people one you whoever")
_NOUN_OF = {"extension": "extend", "submission": "submit", "redemption": "redeem", "loss": "lose"}
_SPELLED = {"licence": "license", "cheque": "check", "programme": "program", "colour": "color"}
_OPPOSITES = {
    "closed": "open", "offline": "online", "inactive": "active", "unavailable": "available",
    "disabled": "enabled", "incomplete": "complete", "invalid": "valid", "off": "on", "open": "closed",
}  # fmt: skip
_WORKED_OUT = (
    "expired", "overdue", "past due", "full", "fully booked", "sold out", "out of stock", "in stock", "empty",
)  # fmt: skip


def key_of(words: Sequence[str]) -> str:
    """One spelling for `off-peak`, `off_peak` and `off peak`, and for cancelled and canceled."""
    return "".join(words).replace("_", "").replace("-", "").replace(" ", "").casefold().replace("ll", "l")


@dataclass(frozen=True, kw_only=True, slots=True)
class Deed:
    """Something a tool does, as a verb says it; `given` where it does so only with some argument."""

    tool: str
    rank: int  # 0: its own verb; 1: its description's; 2 and 3: verbs that mean nearly the same
    particle: str = ""
    given: m.Condition | None = None


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    lexicon: Lexicon
    tools: Sequence[ToolLike]
    _states: dict[tuple[str, str], m.Condition | None] = field(default_factory=dict)
    _named: dict[str, tuple[tuple[tuple[str, Path], ...], tuple[tuple[str, str], ...]]] = field(
        default_factory=dict
    )

    # -- things

    @cached_property
    def nouns(self) -> Mapping[str, tuple[str, ...]]:
        """Singular words run together -> the kinds they may mean, those the world calls so first."""
        found: dict[str, list[str]] = {}
        seeded = {name: kind for name, kind in self.lexicon.kinds.items() if kind.fields}
        seeded = seeded or dict(self.lexicon.kinds)  # of an empty world: what the tools speak of
        for name in seeded:
            parts = [singular(word) for word in words_of(name)]
            for spelled in ("".join(parts), parts[-1]):
                _add(found, spelled, name)
        for name in seeded:  # `class` for class_session, where nothing else is called so
            parts = [singular(word) for word in words_of(name)]
            if len(parts) > 1 and parts[0] not in found:
                _add(found, parts[0], name)
        own = set(found)
        for noun, kind in self._nouns_of_tools():
            if noun not in own and kind in seeded:
                _add(found, noun, kind)
        for noun in [*found]:
            for other in _alike(noun):
                is_sort = other in self._said_values and not set(found[noun]) & set(self._own_folk)
                if other not in own and not is_sort:  # a suite is a room of one sort
                    for kind in found[noun] if noun in own else ():
                        _add(found, other, kind)
        return {noun: tuple(kinds) for noun, kinds in found.items()}

    @cached_property
    def _said_values(self) -> frozenset[str]:
        """Words that some field has for a value."""
        kinds = self.lexicon.kinds.values()
        values = (value for kind in kinds for one in kind.fields.values() for value in one.values)
        return frozenset(value.lower() for value in values if isinstance(value, str) and value.isalpha())

    def _nouns_of_tools(self) -> Iterator[tuple[str, str]]:
        """What a tool's name or description calls the thing it is about: a visit, a rental, a membership."""
        for tool in self.tools:
            known = self.lexicon.tools[tool.name.lower()]
            kind = self._sole_kind(known)
            if kind is None:
                continue
            verbs = {stem(verb) for verb, _ in _verbs_of(known, tool.description)}
            called = (*_object_of(tool.description), *_called_beside(kind, tool.description))
            for word in (*words_of(tool.name), *called):
                noun = singular(word)
                if len(noun) > 2 and stem(noun) not in verbs and noun not in _NO_NOUNS | PARTICLES:
                    yield noun, kind

    def _sole_kind(self, tool: ToolWords) -> str | None:
        """What the tool is about: what it is named after, else the one thing whose id it takes."""
        taken = [name for name in self.lexicon.kinds if self._names_id(tool, name)]
        if tool.kind in taken or (tool.kind and self.lexicon.kinds[tool.kind].fields):
            return tool.kind
        return taken[0] if len(taken) == 1 else None

    def _names_id(self, tool: ToolWords, kind: str) -> bool:
        return bool(self.lexicon.kinds[kind].fields) and self.lexicon.id_argument(tool, kind) is not None

    @cached_property
    def folk(self) -> tuple[str, ...]:
        """Kinds of persons."""
        roles = tuple(name for name, kind in self.lexicon.kinds.roles.items() if kind.of in self._own_folk)
        return (*self._own_folk, *roles)

    @cached_property
    def _own_folk(self) -> tuple[str, ...]:
        return tuple(
            name
            for name, kind in self.lexicon.kinds.items()
            if kind.fields
            and (singular(words_of(name)[-1]) in _FOLK or _are_persons(name, {p[0] for p in kind.fields}))
        )

    @cached_property
    def names(self) -> frozenset[str]:
        """Single words that fields and arguments are called by."""
        fields = (path[-1] for kind in self.lexicon.kinds.values() for path in kind.fields)
        arguments = (name for tool in self.lexicon.tools.values() for name in tool.arguments)
        return frozenset(singular(name) for name in (*fields, *arguments) if len(words_of(name)) == 1)

    def kinds_named(self, words: Sequence[str]) -> tuple[str, ...]:
        known = self.nouns.get(joined(words), ())
        role = "_".join([*words[:-1], singular(words[-1])]) if words else ""
        return known or ((role,) if role in self.lexicon.kinds.roles else ())

    # -- fields

    def field_of(self, kind: str, words: Sequence[str]) -> Path | None:
        known = self.lexicon.kinds.get(kind)
        exact = ("_".join(words),)
        if known is not None and exact in known.fields:
            return exact  # no_shows
        if known is None or not NO_NAMES.isdisjoint(words):
            return None
        plain = [_SPELLED.get(singular(word), word) for word in _without_number_of(words)]
        if not known.fields and len(plain) == 1 and plain[0] in USUAL_FIELDS:
            return (plain[0],)  # no such record has been seen yet
        found = find_field(known.fields, " ".join(plain))
        if found is not None and not (SUPERLATIVES & set(plain)) <= set(words_of(found[-1])):
            return None  # the latest created_at: which of them, not only that there is one
        if found is None and len(plain) > 1 and plain[-1] in TAILS:
            found = find_field(known.fields, " ".join(plain[:-1]))
        return found

    def named_by(
        self, words: Sequence[str]
    ) -> tuple[tuple[tuple[str, Path], ...], tuple[tuple[str, str], ...]]:
        """The fields of all kinds, and the arguments of all tools, that words may mean; looked up once."""
        key = " ".join(words)
        if key not in self._named:
            kinds = (kind.name for kind in self.lexicon.kinds.values() if kind.fields)
            fields = ((name, path) for name in kinds if (path := self.field_of(name, words)) is not None)
            tools = self.lexicon.tools.values()
            taken = ((tool.name, name) for tool in tools if (name := self.argument_of(tool, words)))
            self._named[key] = tuple(fields), tuple(taken)
        return self._named[key]

    def named(self, kind: str, path: Path) -> m.Field:
        return m.Field("_".join(path), kind)

    def dates_of(self, kind: str, words: Sequence[str]) -> list[Path]:
        """Dates named after an event: `pickup`, `joining`, `they start`."""
        known = self.lexicon.kinds.get(kind)
        wanted = {stem(word) for word in words if word not in ("date", "time", "day")}
        if known is None or not wanted:
            return []
        named = [(path, {stem(part) for part in words_of(path[-1])}) for path in known.dates()]
        return [path for path, parts in named if wanted <= parts] or [
            path for path, parts in named if any(related(one) & parts for one in wanted)
        ]

    # -- states

    def state(self, kind: str, words: Sequence[str]) -> m.Condition | None:
        """What makes a thing so: a value its fields take, a switch, a date that has come."""
        key = (kind, " ".join(words))
        if kind not in self.lexicon.kinds:
            return None
        if key not in self._states:
            self._states[key] = self._state(self.lexicon.kinds[kind], words)
        return self._states[key]

    def _state(self, kind: Kind, words: Sequence[str]) -> m.Condition | None:
        key = key_of(words)
        if not kind.fields or len(key) < 2:
            return None
        values = dict(self._values_of(kind))
        if kind.status is not None and key in values.get(kind.status, {}):
            return self._is(kind, kind.status, [values[kind.status][key]])
        if (switch := self._switch(kind, words)) is not None:
            return switch
        hits = [path for path, known in values.items() if key in known]
        if hits:
            return self._is(kind, hits[0], [values[hits[0]][key]]) if len(hits) == 1 else None
        return self._by_part(kind, words, values) or self._by_date(kind, words)

    def _values_of(self, kind: Kind) -> Iterator[tuple[Path, dict[str, Json]]]:
        for path, one in kind.fields.items():
            seen: list[Json] = [*one.values, *self._enums.get((kind.of or kind.name, path[-1]), ())]
            texts: dict[str, Json] = {
                key_of([value]): value for value in reversed(seen) if isinstance(value, str) and value
            }
            if texts and not _is_reference(path) and all(len(key) < 40 for key in texts):
                yield path, texts

    @cached_property
    def _enums(self) -> Mapping[tuple[str, str], list[Json]]:
        """Values that tools about a kind take for an argument, by the kind and its name."""
        found: dict[tuple[str, str], list[Json]] = {}
        for tool in self.lexicon.tools.values():
            for name, schema in tool.arguments.items():
                enum = schema.get("enum")
                for kind in {tool.kind, tool.makes} - {None}:
                    found.setdefault((kind or "", name), []).extend(enum if isinstance(enum, list) else [])
        return found

    def _is(self, kind: Kind, path: Path, values: Sequence[Json]) -> m.Condition:
        return m.OneOf(self.named(kind.name, path), tuple(dict.fromkeys(values)))

    def _switch(self, kind: Kind, words: Sequence[str]) -> m.Condition | None:
        stems = sorted(stem(word) for word in words)
        key = key_of(words)
        for path, one in kind.fields.items():
            if "boolean" not in one.kinds:
                continue
            name = [word for word in words_of(path[-1]) if word not in ("is", "has")] or [path[-1]]
            yes = m.Compare(self.named(kind.name, path), "==", m.Literal_(True))
            if key_of(name) == key or sorted(map(stem, name)) == stems:
                return yes
            for word in (words[0], *words[-1:]):
                other = [_OPPOSITES.get(word, word[2:] if word.startswith("un") else "")]
                turned = [*other, *words[1:]] if word == words[0] else [*words[:-1], *other]
                if other[0] and key_of(name) == key_of(turned):
                    return m.Compare(self.named(kind.name, path), "==", m.Literal_(False))
        return None

    def _by_part(
        self, kind: Kind, words: Sequence[str], values: Mapping[Path, Mapping[str, Json]]
    ) -> m.Condition | None:
        """`closed` for closed_won and closed_lost, `won` for closed_won."""
        if len(words) != 1 or kind.status is None:
            return None
        spelled = values.get(kind.status, {}).values()
        fitting = [value for value in spelled if words[0] in words_of(str(value))]
        return self._is(kind, kind.status, fitting) if fitting and len(words[0]) > 2 else None

    def _by_date(self, kind: Kind, words: Sequence[str]) -> m.Condition | None:
        said = " ".join(words)
        if said in _WORKED_OUT:
            return m.Is(said, kind.name)
        if len(words) != 1 or not words[0].endswith(("ed", "en", "paid", "sent", "sold")):
            return None
        wanted = stem(words[0])
        dates = [path for path in kind.dates() if wanted in {stem(part) for part in words_of(path[-1])}]
        past = [path for path in dates if words[0] in words_of(path[-1])]
        if dates and not past:  # `started`, by a starts_at that has come
            return m.Is(words[0], kind.name, True)
        return m.Present(self.named(kind.name, past[0])) if len(past) == 1 else None

    def value_in(self, kind: str, path: Path, words: Sequence[str]) -> Json:
        """The field's own spelling of a value, or None."""
        known = dict(self._values_of(self.lexicon.kinds[kind])).get(path, {})
        return known.get(key_of(words))

    # -- deeds

    @cached_property
    def deeds(self) -> Mapping[str, tuple[Deed, ...]]:
        """Stem of a verb -> what tools do by it."""
        found: dict[str, list[Deed]] = {}
        kinds = {
            singular(word)
            for kind in self.lexicon.kinds.values()
            if kind.fields
            for word in words_of(kind.name)
        }
        for tool in self.tools:
            known = self.lexicon.tools[tool.name.lower()]
            for at, (verb, particle) in enumerate(_verbs_of(known, tool.description)):
                own = Deed(tool=tool.name, rank=min(at, 1), particle=particle)
                _add(found, stem(verb), own)
                whole = words_of(tool.name)
                if len(whole) > 1 and whole[1] in PARTICLES:  # checking a guest in
                    _add(found, stem(whole[0]), Deed(tool=tool.name, rank=0, particle=whole[1]))
                if len(whole) == 2 and whole[1] in PARTICLES:  # pickup
                    _add(found, stem("".join(whole)), Deed(tool=tool.name, rank=0))
                for form in parted_forms(words_of(tool.name)[0]):  # checking out
                    base, _, second = form.partition(" ")
                    _add(found, stem(base), Deed(tool=tool.name, rank=0, particle=second))
                if words_of(tool.name)[0] not in kinds:  # whatever it was taken for: `reverse_transaction`
                    _add(found, stem(words_of(tool.name)[0]), Deed(tool=tool.name, rank=0))
                # Placing an order is also said as ordering, making an application as applying.
                for made in filter(None, (known.makes, known.called)):
                    for word in _verbs_in(singular(words_of(made)[-1])):
                        _add(found, stem(word), Deed(tool=tool.name, rank=1))
                for noun in action_nouns(verb):  # a registration
                    _add(found, stem(noun), own)
                for other in _verbs_like(verb):
                    _add(found, stem(other), Deed(tool=tool.name, rank=2, particle=""))
        for tool in self.tools:
            known = self.lexicon.tools[tool.name.lower()]
            for name in known.arguments if not known.reads else ():  # who gives a backer_id backs something
                doer = words_of(name)[0] if words_of(name)[1:] == ("id",) else ""
                if doer.endswith(("er", "or")) and doer not in kinds and len(doer) > 4:
                    _add(found, stem(f"{doer[:-2]}ing"), Deed(tool=tool.name, rank=1))
        for tool in self.tools:
            for path, value in self._verb_values(self.lexicon.tools[tool.name.lower()]):
                given = m.OneOf(m.Field(path, None, True), (value,))
                for word in words_of(str(value))[-1:]:
                    _add(found, stem(word), Deed(tool=tool.name, rank=1, given=given))
        return {verb: tuple(deeds) for verb, deeds in found.items()}

    def _verb_values(self, tool: ToolWords) -> Iterator[tuple[str, Json]]:
        for name, schema in tool.arguments.items():
            enum = schema.get("enum")
            if isinstance(enum, list) and not tool.reads and len(enum) <= 12:
                yield from ((name, value) for value in enum if isinstance(value, str))

    def deeds_of(self, word: str) -> tuple[Deed, ...]:
        plain = _NOUN_OF.get(singular(word), word)
        spelled = (stem(plain), stem(stem(plain)), stem(_BASES.get(plain, plain)))
        found = next((self.deeds[one] for one in spelled if one in self.deeds), ())
        again = word[2:] if word.startswith("re") and stem(word[2:]) in _DONE_AGAIN else ""
        return found or (self.deeds_of(again) if again else ())

    def argument_of(self, tool: ToolWords, words: Sequence[str]) -> str | None:
        if not words or (len(words) > 1 and not NO_NAMES.isdisjoint(words)):
            return None
        return find_argument(tool, " ".join(_without_number_of(words)))

    def is_about(self, tool: ToolWords, kind: str) -> bool:
        return kind in (tool.kind, tool.makes, tool.called) or self._names_id(tool, kind)

    def makers(self, kind: str) -> list[ToolWords]:
        """Tools of which each call adds one such thing."""
        tools = [tool for tool in self.lexicon.tools.values() if not tool.reads]
        found = [tool for tool in tools if kind in (tool.makes, tool.called)]
        own = [tool for tool in tools if tool.kind == kind]
        found = found or [tool for tool in own if self.lexicon.id_argument(tool, kind) is None]
        noun = singular(words_of(kind)[-1])  # a loan is made by whatever lends, borrows or checks out
        return found or [tool for tool in tools if any({tool.verb, noun} <= same for same in SAME_VERBS)]


#: What is done again is said with `re` in front: reassigned, rebooked.
_DONE_AGAIN = frozenset(
    map(
        stem,
        ["assign", "book", "open", "activate", "issue", "send", "start", "submit", "schedule", "allocate"],
    )
)
_BASES = {form: base for base, forms in IRREGULAR.items() for form in forms}
_NO_NOUNS = word_set("list new detail all one some other another record number request name info data time")
#: Words that are never part of what a field or an argument is called.
NO_NAMES = word_set(
    "is are was were be been must may can not no given passed to by and or if when only has have in on at "
    "the a an with without for unless than it they left named set stated"
)
SUPERLATIVES = word_set(
    "newest latest recent oldest earliest soonest highest biggest largest greatest dearest priciest most "
    "best longest heaviest lowest smallest cheapest least shortest lightest fewest worst"
)
TAILS = word_set("count number figure amount value level reading quantity percentage date time field limit")


def _add(found: dict[str, list[_Found]], key: str, value: _Found) -> None:
    known = found.setdefault(key, [])
    if value not in known:
        known.append(value)


def _are_persons(name: str, fields: set[str]) -> bool:
    """By what only persons have; by a name and how to reach them; or by a word for a doer with a name."""
    is_doer = singular(words_of(name)[-1]).endswith(("er", "or", "ist", "ian", "ant", "ee"))
    return bool(_OF_PERSONS & fields) or ("name" in fields and (is_doer or bool({"email", "phone"} & fields)))


def _without_number_of(words: Sequence[str]) -> list[str]:
    """`maximum number of passengers` is what `maximum passengers` is."""
    said = " ".join(words)
    return (f"{said} ".replace("number of ", "") if "number of " in said else said).split()


def _is_reference(path: Path) -> bool:
    return words_of(path[-1])[-1] in ("id", "ids", "name", "email", "phone", "address")


def _verbs_of(tool: ToolWords, description: str) -> Iterator[tuple[str, str]]:
    """The verb of the name, then the one the description begins with; each with its particle."""
    parts = words_of(tool.name)
    after = parts[parts.index(tool.verb) + 1 :] if tool.verb in parts else ()
    yield tool.verb, after[0] if after and after[0] in PARTICLES else ""
    said = [word.strip(",.;:").lower() for word in description.split()[:8]]
    if said and said[0].isalpha() and said[0] not in _NOT_VERBS:
        particle = next((word for word in said[1:] if word in PARTICLES - {"in", "on"}), "")
        yield said[0], particle
    told = _TOLD.search(description.lower())
    if told is not None and told["verb"].endswith(("ed", "en", "t", "id")):
        yield told["verb"], ""


#: `Record that a part was fitted`: what was done is told, and calling the tool is what tells it.
_TOLD = re.compile(r"^\w+(?: \w+)? that (?:\w+ ){1,4}?(?:was|were|has been|have been) (?P<verb>\w+)")


def _object_of(description: str) -> tuple[str, ...]:
    """The noun that follows the first verb: `Book a visit for a pet` is about visits."""
    first = re.split("[,.;:]", description, maxsplit=1)[0]
    said = [word.lower() for word in first.split()[:6]]
    for at, word in enumerate(said[1:], 1):
        if word in ("a", "an", "the", "new", "running", "booked", "one", *PARTICLES):
            continue
        follows = said[at + 1 : at + 2]
        if word.endswith("ing") and follows:
            continue  # a cleaning visit
        is_last = not follows or follows[0] in ("for", "of", "to", "from", "with", "into", "at", "in", "on")
        return (word,) if is_last and word.isalpha() else ()
    return ()


def _called_beside(kind: str, description: str) -> Iterator[str]:
    """`a repair job` is a repair: what its own word stands before, where the description calls it so."""
    own = singular(words_of(kind)[-1])
    said = re.findall(r"[a-z]+|[,.;:()]", description.lower())
    for word, following, after in zip(said, said[1:], [*said[2:], "."], strict=False):
        is_noun = following.isalpha() and following not in _AFTER_NOUNS | NO_NAMES
        if word == own and is_noun and (not after.isalpha() or after in _AFTER_NOUNS):
            yield following


_AFTER_NOUNS = word_set("for of to from with into at in on by optionally when that which and or")


def _verbs_in(noun: str) -> Iterator[str]:
    """The noun itself, and what it is the doing of: apply in application, reserve in reservation."""
    yield noun
    for ending, instead in (
        ("ication", "y"),
        ("ation", "e"),
        ("ation", ""),
        ("ment", ""),
        ("ing", ""),
        ("al", ""),
    ):
        if noun.endswith(ending) and len(noun) > len(ending) + 2:
            yield noun.removesuffix(ending) + instead


def _verbs_like(verb: str) -> Iterator[str]:
    for same in SAME_VERBS:
        if verb in same:
            yield from same - {verb}


def _alike(noun: str) -> Iterator[str]:
    yield from _SAME_THINGS.get(noun, ())


def _rows(*rows: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for row in rows:
        for word in row.split():
            found.setdefault(word, []).extend(other for other in row.split() if other != word)
    return {word: tuple(others) for word, others in found.items()}


#: Nouns that a sentence may use for a kind the world calls otherwise.
_SAME_THINGS = _rows(
    "vehicle car van",
    "customer client buyer user shopper guest renter patron",
    "member subscriber user",
    "tenant renter resident",
    "booking reservation",
    "appointment visit",
    "worker employee staff person",
    "rep agent",
    "item product article good stock",
    "order purchase",
    "ticket case issue",
    "parcel package shipment",
    "doctor physician",
    "student learner pupil",
    "invoice bill",
    "prescription drug medication",
    "course class",
    "flight trip",
    "room suite",
    "loan borrowing",
    "policyholder holder",
    "vessel ship",
    "film movie",
)


def number_of(value: Decimal) -> Json:
    return int(value) if value == value.to_integral_value() else float(value)
