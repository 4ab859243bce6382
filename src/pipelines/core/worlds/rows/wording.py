"""Requests in plain English: what a user who knows their ids, and no tool, would write.

A lookup is asked as a question, a change as a request; the values that the call takes stand in it. All other
words are those of the tool's name, its description and its schema.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from pipelines.core.english.words import article, is_plural, plural, singular, singulars, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.worlds.draw import Draw
from pipelines.core.worlds.outline import FieldOutline, field_from_schema, is_person
from pipelines.core.worlds.rows.calls import Candidate
from pipelines.core.worlds.rows.phrases import (
    BEFORE_VALUES,
    MOMENT_NOUNS,
    NEW,
    OTHERS,
    bare_words,
    command_in,
    is_clause,
    label,
    listed,
    noun_phrase,
    said,
    verb_of,
    when_asked,
)
from pipelines.core.worlds.rows.tool_in_world import ToolInWorld
from pipelines.core.worlds.values.measures import MONEY, unit_of
from pipelines.core.worlds.values.values import LONG_TEXTS, text_kind

_REQUESTS = (
    "Please {}.", "Could you {}?", "I need you to {}.", "Hi, can you {}?", "Hello! I would like you to {}.",
    "Good morning. Please {}.",
)  # fmt: skip
_QUESTIONS = ("{}", "Hello! {}", "Good morning. {}")
_MORE = ("Also, {}", "And {}", "One more thing: {}")
_THANKS = ("Thank you.", "Thanks for your help.")
_CONTEXTS = (*_THANKS, "A colleague asked me to take care of this.", "There is no rush.")
_ASKERS = (*_THANKS, "A colleague wants to know.", "I hope this is the right place to ask.")
PLACES = word_set("eta destination location position")  # fields of what may be somewhere
#: Verbs that say no more than that a value becomes another.
_PLAIN_VERBS = word_set(
    "update set change modify edit amend correct adjust alter revise replace patch upd chg mod"
)
_SAID_PLAINLY = word_set("details detail info information record records data status list entry my full")
Given = Sequence[tuple[Argument, Json]]


@dataclass(frozen=True, kw_only=True)
class Request:
    """One thing that is asked for: a question, or what is to be done with details in sentences behind it."""

    text: str
    is_question: bool = False
    details: tuple[str, ...] = ()

    def opened(self, draw: Draw, place: str, *, alone: bool = False) -> str:
        """`alone`: half of all people say a little more than they have to."""
        opening = draw.pick(_QUESTIONS if self.is_question else _REQUESTS, f"opening/{place}")
        more = draw.pick(_ASKERS if self.is_question else _CONTEXTS, f"which/{place}")
        is_more = alone and draw.below(2, f"context/{place}") == 0
        return " ".join((opening.format(self.text), *self.details, *([more] if is_more else ())))

    def added(self, first: str, draw: Draw, place: str) -> str:
        """Behind another request of the same message."""
        mine = self.text[:1].lower() + self.text[1:] if self.is_question else f"please {self.text}."
        return " ".join((first, draw.pick(_MORE, f"more/{place}").format(mine), *self.details))


@dataclass(frozen=True)  # no slots: what is derived is kept on the record
class Writer:
    """Words one call.

    `shown` is what a lookup would answer: those of its fields are asked for that `wanted` words speak of.
    `who` says which record is meant where its id is not said: "with phone number 555-0101".
    """

    asked: ToolInWorld
    candidate: Candidate
    draw: Draw
    place: str
    shown: JsonObject
    wanted: Collection[str] = ()
    who: str | None = None

    @cached_property
    def thing(self) -> str:
        """What is asked about: "order O-1"; "the owner with phone number 555-0101"."""
        target, own = self.asked.target, self.asked.own
        if target is None or own is None:
            return ""
        return f"the {own.noun} {self.who}" if self.who else self._named(target)

    @property
    def request(self) -> Request:
        request, op = self.asked, self.asked.fact.name.op
        arguments = self.candidate.arguments
        given = [(one, arguments[one.name]) for one in request.fact.arguments if one.name in arguments]
        rest = [(one, value) for one, value in given if one != request.target]
        if op in ("list", "search") or (not self.thing and request.keys and op != "compute"):
            return Request(text=self._listed(given), is_question=True)
        if op == "compute" and self.thing and (noun := self._computed()):
            text = f"What is the {noun} of {self.thing}?"
            return Request(text=text, is_question=True, details=self._details(rest))
        if op == "get" and self.thing and not rest:
            return Request(text=self._asked_about(), is_question=True)
        amounts = [pair for pair in rest if isinstance(pair[1], int | float) and not self._is_id(pair[0])]
        is_plain = not any(self._is_id(one) for one, _ in rest)
        if self.thing and rest and is_plain and request.fact.name.verb in _PLAIN_VERBS:
            return Request(text=self._changed(rest))
        if op in ("transfer", "fund", "withdraw") and len(amounts) == 1:
            others = [pair for pair in rest if pair not in amounts and not self._is_id(pair[0])]
            return Request(text=self._moved(amounts[0], given), details=self._details(others))
        return self._done(rest)

    # -- questions

    def _asked_about(self) -> str:
        """A question about one of the fields that the answer has; else for the record."""
        own = self.asked.own
        fields = [one for name in self.shown if own is not None and (one := own.field(name)) is not None]
        asked_questions = [
            self._question(one) for one in fields if self.shown[one.name] not in (None, "", [], {})
        ]
        questions = [one for one in asked_questions if one]
        if any(PLACES & {*one.words} for one in fields):
            questions.append(f"Where is {self.thing}?")
        if self.wanted:
            bare = {one: {*singulars(tokens(one.replace(self.thing, "")))} for one in questions}
            questions = [one for one in questions if bare[one] & {*self.wanted}]
        is_open = not self.wanted and len(self.shown) != 1
        is_whole = not questions or (is_open and self.draw.below(3, f"whole/{self.place}") == 0)
        whole = [f"Can you look up {self.thing} for me?", f"What do you have on file for {self.thing}?"]
        return self.draw.pick(whole if is_whole else questions, f"question/{self.place}")

    def _question(self, one: FieldOutline) -> str | None:
        own, words = self.asked.own, one.words
        is_key = own is not None and one.name == own.id_field
        if is_key or one.refers_to is not None or one.kind in ("list", "object"):
            return None
        if one.kind == "boolean":
            return f"Is {self.thing} {' '.join(words[1:])}?" if words[0] == "is" and len(words) > 1 else None
        if one.is_moment:
            return when_asked(one, self.thing) if isinstance(self.shown[one.name], str) else None
        many = next((at for at, word in enumerate(words) if is_plural(word)), None)
        if one.kind in ("whole", "number") and many is not None and unit_of(words) is None:
            rest = " ".join(("have", *words[many + 1 :]))
            return f"How many {' '.join(words[: many + 1])} does {self.thing} {rest}?"
        is_vague = one.kind == "text" and not one.values and text_kind(one) in ("", *LONG_TEXTS)
        is_are = "are" if is_plural(words[-1]) and one.kind == "text" else "is"
        return None if is_vague else f"What {is_are} the {label(words)} of {self.thing}?"

    def _computed(self) -> str:
        """`fee` of calculate_berth_fee, about a berth."""
        own = self.asked.own
        return " ".join(word for word in self.asked.fact.name.nouns if own is None or word != own.last)

    def _listed(self, given: Given) -> str:
        request, own = self.asked, self.asked.own
        noun = own.noun if own is not None else " ".join(request.fact.thing) or "record"
        *first, last = noun.split()
        many = " ".join((*first, plural(last)))
        whose = listed([self._named(one) for one, _ in given if self._is_id(one)])
        others = [pair for pair in given if not self._is_id(pair[0])]
        last = own.last if own is not None else ""
        phrase = listed(
            [f"{label(bare_words(one.words, last))} {self._value(one, value)}" for one, value in others]
        )
        tail = f" with {phrase}" if phrase else ""
        is_one = bool(others) and not whose and all(one.is_required and not one.values for one, _ in given)
        if request.fact.name.op != "list" and is_one:
            heads = (f"Which {noun} has the {phrase}?", f"Can you find the {noun}{tail}?")
        elif whose:
            heads = (f"Which {many} does {whose} have{tail}?", f"Can you list the {many} of {whose}{tail}?")
        else:
            heads = (f"Can you list the {many}{tail}?", f"Which {many} are there{tail}?")
        return self.draw.pick(heads, f"list/{self.place}")

    # -- changes

    def _changed(self, rest: Given) -> str:
        """Fields that get other values."""
        last = self.asked.own.last if self.asked.own is not None else ""
        flat = [
            (tokens(key), inner, one)
            for one, value in rest
            for key, inner in (value.items() if isinstance(value, dict) else ((one.name, value),))
        ]
        phrases = [
            f"the {label(bare_words(words, last))} to {self._value(one, value, words)}"
            for words, value, one in flat
        ]
        first = f"the {label(bare_words(flat[0][0], last))}"
        return f"change {listed([phrases[0].replace(first, f'{first} of {self.thing}', 1), *phrases[1:]])}"

    def _moved(self, amount: tuple[Argument, Json], given: Given) -> str:
        """So much from one to another."""
        ids = [(one, self._named(one)) for one, _ in given if self._is_id(one)]
        to = next((named for one, named in ids if {"to", "target"} & {*one.words}), ids[-1][1] if ids else "")
        others = [named for _, named in ids if named != to]
        way = "from" if self.asked.fact.name.op == "withdraw" and not others else "to"
        return f"{self._verb} {self._value(*amount)}{f' from {others[0]}' if others else ''} {way} {to}"

    def _done(self, rest: Given) -> Request:
        """As the name of the tool says it where that says all; else as its description does."""
        ids = [one for one, _ in rest if self._is_id(one)]
        others = [pair for pair in rest if pair[0] not in ids]
        said_there: list[Argument] = []
        text = self._by_whole_description(ids, others, said_there)
        text = (
            text
            or self._by_name(ids, said_there)
            or self._by_description(ids, said_there)
            or self._by_words()
        )
        # "Record a weight for animal A-1", "by some months": the one number that is given is that.
        tail = f" for {self.thing}" if self.thing and text.endswith(f" for {self.thing}") else ""
        head, is_one = text.removesuffix(tail), len(others) == 1 and isinstance(others[0][1], int | float)
        noun = f" {label(others[0][0].words)}" if is_one else "\0"
        if head.endswith(f" some{noun}"):
            text = f"{head.removesuffix(f' some{noun}')} {self._value(*others.pop())}{noun}{tail}"
        elif head.endswith(noun):
            text = f"{head} of {self._value(*others.pop())}{tail}"
        named = [self._named(one) for one in ids if one not in said_there]
        return Request(text=f"{text} for {listed(named)}" if named else text, details=self._details(others))

    @cached_property
    def _verb(self) -> str:
        return self.asked.fact.name.verb.replace("_", " ")

    @property
    def _is_about(self) -> bool:
        """Whether the name has no other noun than that of what it is about."""
        own, nouns = self.asked.own, singulars(self.asked.fact.name.nouns)
        words = {*singulars(own.words)} if own is not None else set()
        return bool(self.thing) and {*nouns} - _SAID_PLAINLY <= words

    def _by_name(self, ids: Sequence[Argument], said_there: list[Argument]) -> str | None:
        """`cancel_order`, `book_appointment`, `request_refund`: a verb and what it is about."""
        fact = self.asked.fact
        nouns = [word for word in fact.name.nouns if word not in _SAID_PLAINLY]
        if fact.name.op in (None, "compute", "think") or fact.name.complements:
            return None
        if self._is_about:
            return f"{self._verb} {self.thing}" if fact.name.op != "update" else None
        noun = " ".join(nouns)
        who = next((one for one in ids if self._noun(one) == noun), None)
        if who is not None:  # notify_carrier, assign_driver
            said_there.append(who)
            return f"{self._verb} {self._named(who)}{f' to {self.thing}' if self.thing else ''}"
        if not nouns or not fact.makes or fact.name.verb.split("_")[0] not in tokens(fact.tool.name):
            return None
        phrase = f"{self._verb} {noun if is_plural(nouns[-1]) else f'{article(noun).lower()} {noun}'}"
        return f"{phrase} for {self.thing}" if self.thing else phrase

    def _by_whole_description(
        self, ids: Sequence[Argument], others: list[tuple[Argument, Json]], said_there: list[Argument]
    ) -> str | None:
        """Its first sentence where that speaks of every id; values stand in it: "to a later date"."""
        arguments: list[Argument] = []
        text = self._by_description(ids, arguments)
        if text is None or not arguments or not {one.name for one in ids} <= {one.name for one in arguments}:
            return None
        words = text.split()
        moments = [one for one, _ in others if field_from_schema(one.name, one.schema).is_moment]
        for pair in [*others]:
            one = pair[0]
            named, ends = {*one.words} - NEW, {one.words[-1]}
            if moments == [one]:
                named, ends = set(), ends | MOMENT_NOUNS
            place = noun_phrase(words, ends)
            phrase = words[place[0] : place[1]] if place is not None else []
            if place is None or self._is_long(*pair) or not named <= {word.lower() for word in phrase}:
                continue
            is_whole = moments == [one] or not OTHERS.isdisjoint(phrase[:-1])
            if is_whole or words[place[0] - 1] in BEFORE_VALUES:
                words[place[0] : place[1]] = [self._value(*pair)]
                others.remove(pair)
        said_there += arguments
        return " ".join(words)

    def _by_description(self, ids: Sequence[Argument], said_there: list[Argument]) -> str | None:
        """Its first sentence, where that is a command: "Put another car on a permit."."""
        words = command_in(self.asked.fact.tool.description or "", self.asked.fact.name.verb)
        target, found = self.asked.target, []
        for one in (*([target] if target is not None else ()), *ids):
            kind = self.asked.types.get(self.asked.id_type(one) or "")
            nouns = {singular(self._noun(one)), *([kind.last] if kind is not None else [])}
            place = noun_phrase(words, nouns)
            if place is not None:
                named = self.thing if one == target else self._named(one)
                words = [*words[: place[0]], named, *words[place[1] :]]
                found.append(one)
        if target is not None and target not in found:
            return None
        said_there += found
        return " ".join(words)

    def _by_words(self) -> str:
        name = self.asked.fact.name
        if self._is_about:
            return f"{self._verb} {self.thing}"
        verb, *nouns = tokens(self.asked.fact.tool.name)[len(name.service) :] or (self._verb,)
        if name.verb in self.asked.fact.tool.name:
            behind = (each for one, words in name.complements for each in (one, *words))
            verb, nouns = self._verb, [*name.nouns, *behind]
        is_made = (
            self.asked.makes or self.asked.fact.makes
        )  # give notice for a lease, shorten the stay of a booking
        head = " ".join((verb, *(["the"] if nouns and not is_made else ()), *nouns))
        return f"{head} {'for' if is_made else 'of'} {self.thing}" if self.thing else head

    # -- values

    def _details(self, rest: Given) -> tuple[str, ...]:
        long = [pair for pair in rest if self._is_long(*pair)]
        short = [pair for pair in rest if pair not in long]
        phrase = listed(
            [f"the {self._label(one)} {verb_of(one)} {self._value(one, value)}" for one, value in short]
        )
        behind = (
            f"{label(one.words)}{' ' if is_clause(one.words) else ': '}{self._value(one, value).rstrip('.')}"
            for one, value in long
        )
        return tuple(f"{each[:1].upper()}{each[1:]}." for each in (phrase, *behind) if each)

    def _is_long(self, one: Argument, value: Json) -> bool:
        is_text = isinstance(value, str) and not one.values and self._kind(one) in LONG_TEXTS
        return is_text or isinstance(value, bool | list | dict) or is_clause(one.words)

    def _label(self, one: Argument) -> str:
        """`new start` of what is moved: it had another."""
        own, is_many = self.asked.field(one), one.kind == "number" and is_plural(one.words[-1])
        if is_many and unit_of(one.words) is None and one.words[-1] not in MONEY:
            return f"number of {label(one.words)}"
        is_moved = own is not None and own.is_moment and self.asked.fact.name.op == "update"
        return f"new {label(one.words)}" if is_moved and one.words[0] not in NEW else label(one.words)

    def _kind(self, one: Argument) -> str:
        return text_kind(field_from_schema(one.name, one.schema))

    def _is_id(self, one: Argument) -> bool:
        return one.is_scalar and self.asked.id_type(one) is not None

    def _noun(self, one: Argument) -> str:
        """What the argument calls what it picks: a seller, where that says more than the type."""
        kind = self.asked.types.get(self.asked.id_type(one) or "")
        words = [word for word in one.id_noun or () if word not in (*NEW, "to", "from")]
        is_plain = kind is None or (words and is_person(words[-1]))
        return " ".join(words) or label(one.words) if is_plain or kind is None else kind.noun

    def _named(self, one: Argument) -> str:
        return f"{self._noun(one)} {said(self.candidate.arguments.get(one.name))}"

    def _value(self, one: Argument, value: Json, words: tuple[str, ...] = ()) -> str:
        if isinstance(value, list):
            return listed([self._value(one, each, words) for each in value])
        if one.values and isinstance(value, str):
            return value.replace("_", " ")  # one of a list that the agent is shown
        unit = unit_of(words or one.words) if isinstance(value, int | float) else None
        is_title = isinstance(value, str) and " " in value and self._kind(one) in ("name", "title", "goods")
        if unit is not None:
            return f"{said(value)} {unit}"
        if isinstance(value, float) and not value.is_integer() and MONEY & {*(words or one.words)}:
            return f"{value:.2f}"
        return f'"{said(value)}"' if is_title else said(value)
