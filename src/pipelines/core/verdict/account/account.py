"""What of an answer nothing in the run accounts for.

segment -> the records it speaks of -> its values bound to their cells -> its other words, each by what it can
stand for there. Words that count, compare or limit are told apart: whether these hold is not asked here.
"""

import re
from collections.abc import Iterator
from datetime import date
from functools import cached_property
from typing import NamedTuple

from pipelines.core.english.dates import Dated, Day, Timed
from pipelines.core.english.numbers import Quantity
from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.english.words import tokens as name_tokens
from pipelines.core.english.words import word_set
from pipelines.core.verdict.account.bindings import Bindings
from pipelines.core.verdict.account.grounds import Grounds, stem_of, words_in
from pipelines.core.verdict.account.lexicon import (
    ADDS,
    ALL_DONE,
    BEING,
    BINDS,
    CARRIES_OUT,
    COSTS,
    COURTESY,
    DENIALS,
    FUNCTION,
    HELPS,
    LENGTHENS,
    LOGIC,
    LOWERS,
    MANNER,
    MONEY,
    MOVES,
    NEAR_DAYS,
    NUMBER_OF_MONTH,
    OF_REST,
    OFFER,
    PARTS_OF_DAY,
    PAST,
    RAISES,
    REFUSES,
    REPORTS,
    SUPPOSES,
    SYMPATHY,
    UNITS,
    UNKNOWING,
    WEEKDAYS,
    WISH,
)
from pipelines.core.verdict.account.segments import Segment, Token, segments
from pipelines.core.verdict.borne_out import RECORD_NOUNS
from pipelines.core.verdict.cells import Scope, Thing, When
from pipelines.core.verdict.known import is_nothing
from pipelines.core.verdict.records import bare
from pipelines.core.verdict.said import QUESTION, named_in
from pipelines.core.verdict.speech import sentences, signed_words


class Left(NamedTuple):
    """What is left of one segment."""

    said: str  # the segment as it is written
    words: tuple[str, ...] = ()  # that say something, and stand for nothing in the run
    small: tuple[str, ...] = ()  # that count, compare, limit, and numbers that no cell holds: `only`, `both`


def left_of(grounds: Grounds) -> list[Left]:
    """Of all answers of a run, segment by segment; of those that are accounted for, nothing."""
    return [left for text in grounds.evidence.responses for left in _Reader(grounds).read(text)]


class _Reader:
    def __init__(self, grounds: Grounds) -> None:
        self._grounds = grounds
        self._focus = named_in(grounds.evidence.user_instruction, grounds.facts)

    def read(self, text: str) -> Iterator[Left]:
        for sentence in sentences(self._grounds.without_quotes(text)):
            self._grounds.evidence.keep_going()
            own = self._grounds.cells.scope(self._focus).own
            subject = own[0] if len(own) == 1 else None  # what is spoken of
            for segment in (
                segments(sentence, self._grounds.long_values) if not QUESTION.search(sentence) else ()
            ):
                yield from self._of(segment, subject)
                own = self._grounds.cells.scope(self._focus).own
                is_same = subject is not None and len(own) == 1 and own[0].entity_type != subject.entity_type
                subject = subject if is_same else (own[0] if len(own) == 1 else subject)

    def _of(self, segment: Segment, subject: Thing | None) -> Iterator[Left]:
        named = named_in(segment.written.lower(), self._grounds.facts) or self._grounds.holders(segment)
        self._focus = named or self._focus
        left = _Check(self._grounds, self._grounds.cells.scope(self._focus), segment, subject).left()
        if left.words or left.small:
            yield left


class _Check:
    """One segment against the records that it speaks of."""

    def __init__(self, grounds: Grounds, scope: Scope, segment: Segment, subject: Thing | None) -> None:
        self._grounds = grounds
        self._scope = scope
        self._subject = subject
        self._segment = segment
        self._tokens = segment.tokens
        self._words = segment.words
        self._said = " ".join(token.text for token in segment.tokens)
        self._is_denied = segment.is_denied or (bool(grounds.refused) and not _TRIES.isdisjoint(self._words))
        self._bindings = Bindings(grounds, scope, segment, is_denied=self._is_denied)
        self._settled: set[str] = set()  # words that were looked up with others

    def left(self) -> Left:
        if self._states_nothing():
            return Left(self._segment.written)
        self._bindings.bind()
        self._look_up_nothing()
        self._look_up_unchanged()
        strange = [
            *self._bindings.strange,
            *self._of_others(),
            *self._of_other_part(),
            *self._of_no_rule(),
            *self._of_some(),
            *self._of_only(),
            *self._of_no_call(),
        ]
        words = [one for at, one in enumerate(self._tokens) if self._is_unaccounted(at, one)]
        small = [one for one in words if one.mention is not None or _is_small(one.text)]
        content = [one.text for one in words if one not in small and one not in strange]
        small = self._beside_lists([one for one in small if one not in strange])
        is_open = bool(content or small) and not self._segment.is_heading
        if not strange and is_open and self._is_quoted(content):
            return Left(self._segment.written)
        return Left(
            self._segment.written,
            (*(one.text for one in strange), *content),
            tuple(one.text for one in small),
        )

    def _is_unaccounted(self, at: int, token: Token) -> bool:
        if at in self._bindings.cells:
            return False
        return token.mention is not None or not self._is_accounted_for(at, token)

    def _beside_lists(self, small: list[Token]) -> list[Token]:
        """Without counts and superlatives that a whole list bears out which was told."""
        if not small:
            return []
        names = frozenset(thing.id.lower() for thing in self._scope.own)
        told = self._grounds.listed(self._segment.sentence, names)
        return [one for one in small if one.start not in told.numbers and stem_of(one.text) not in told.words]

    def _of_others(self) -> list[Token]:
        """Names of things which what the sentence is about does not refer to, but to others of their kind:
        `it is in V-N`, of one that was moved to V-D."""
        if self._subject is None or self._bindings.is_past or self._is_denied:
            return []
        types = {thing.id.lower(): thing.entity_type for thing in self._grounds.cells.things}
        if any(types.get(token.text) == self._subject.entity_type for token in self._tokens):
            return []  # it names another
        held = {
            str(cell.value).lower() for cell in self._grounds.cells.of(self._subject) if cell.when is When.IS
        }
        kinds = {types[id] for id in held & types.keys()}
        return [
            token
            for token in self._tokens
            if types.get(token.text) in kinds
            and token.text not in held
            and token.text != self._subject.id.lower()
        ]

    def _of_other_part(self) -> list[Token]:
        """A name in the place of another, where a field tells who it was: `three credits went to Ilse`, with
        `credited_to: Odile`."""
        if self._is_denied:
            return []
        said = {stem_of(word) for word in self._words}
        found: list[Token] = []
        for cell in self._scope.cells:
            *deed, part = name_tokens(cell.field) or [""]
            is_told = part in _PARTS and cell.when in (When.IS, When.TOLD) and isinstance(cell.value, str)
            if is_told and deed and not said.isdisjoint(map(stem, deed)):
                found += self._names_beside(str(cell.value))
        return found

    def _names_beside(self, name: str) -> list[Token]:
        """Names of others of the kind of the one that goes by a name."""
        kinds = {thing.entity_type for thing in self._grounds.cells.named({name.lower()})}
        others = {
            word
            for thing in self._grounds.cells.things
            if thing.entity_type in kinds
            for word in words_in(str(thing.after.get("name", thing.id)))
        }
        return [
            token
            for token in self._tokens
            if token.is_capital and {*words_in(token.text)} & (others - {*words_in(name)})
        ]

    def _of_no_call(self) -> list[Token]:
        """What a tool does, told as done where only a refused call would have: `the plot was assigned`."""
        refused = self._grounds.refused_words - self._grounds.done_words
        if self._is_denied or not refused or not BINDS.isdisjoint({*self._words} - {"has", "have"}):
            return []
        found = []
        for at, token in enumerate(self._tokens):
            before = {other.text for other in self._tokens[max(0, at - 3) : at]}
            is_deed = token.is_word and token.text.endswith(_PARTICIPLES) and not before.isdisjoint(_DONE_BY)
            if is_deed and stem_of(token.text) in refused and stem_of(token.text) not in self._states_now:
                found.append(token)
        return found

    def _of_some(self) -> list[Token]:
        """A field that there is said to be nothing in, and that holds something: `it costs nothing`."""
        is_undone = not self._grounds.done and _UNDONE.search(self._said) is not None
        is_none = _NOTHING.search(self._said) is not None or "anything" in self._words
        if is_undone or not is_none or not self._is_denied:
            return []
        money = COSTS | MONEY
        found = []
        for token in self._tokens:
            key = stem_of(token.text)
            meant = related(key) | (COSTS if key in COSTS else frozenset())
            held = [
                number
                for cell in self._scope.cells
                if cell.when is When.IS and self._scope.is_own(cell) and not cell.words.isdisjoint(meant)
                for number in cell.numbers
            ]
            if token.is_word and key in money and held and all(held):
                found.append(token)
        return found

    def _of_no_rule(self) -> list[Token]:
        """Numbers of what is told as a rule, that stand in none: `at least seven days ahead`."""
        if not _LIMITS.search(self._said):
            return []
        known = self._grounds.rule_numbers | self._grounds.facts.asked.numbers
        return [
            token
            for at, token in enumerate(self._tokens)
            if isinstance(token.mention, Quantity)
            if at not in self._bindings.cells or (_LIMIT.search(self._said) and not self._segment.names_one)
            if known.isdisjoint(abs(value).normalize() for value in token.mention.values)
        ]

    # What states nothing

    def _states_nothing(self) -> bool:
        if ALL_DONE.search(self._said):
            return bool(self._grounds.done)
        stems = [stem_of(word) for word in self._words if word not in FUNCTION]
        is_feeling = SYMPATHY.search(self._said) is not None and not {"i", "we"} & {*self._words}
        is_feeling = is_feeling and not self._tells_of_records(stems)
        if is_feeling or UNKNOWING.search(self._said) or self._is_heading() or self._is_courtesy():
            return True
        mentioned = [token for token in self._tokens if token.mention is not None]
        return SUPPOSES.search(self._said) is not None and all(map(self._is_known_value, mentioned))

    def _is_heading(self) -> bool:
        """`Route:`, with nothing behind it. A deed or a sum of money says something even so."""
        if not self._segment.is_heading or not all(token.is_word for token in self._tokens):
            return False
        return not any(word.endswith("ed") or stem_of(word) in MONEY or word in LOGIC for word in self._words)

    def _is_courtesy(self) -> bool:
        """Words that are said to a person; in offers and wishes also others, but no amount and no cost."""
        mentioned = [token for token in self._tokens if token.mention is not None]
        is_offer = self._is_offer()
        if mentioned:
            is_plain = not self._is_denied and not any(map(_is_amount, mentioned))
            return is_offer and is_plain and all(map(self._is_known_value, mentioned))
        little = FUNCTION | MANNER | DENIALS
        spoken = [token.text for token in self._tokens[self._segment.labels :] if token.is_word]
        labels = [token.text for token in self._tokens[: self._segment.labels]]
        if not all(stem_of(word) in REPORTS for word in labels):  # `Noted: thank you`
            spoken = self._words
        stems = [stem_of(word) for word in spoken if word not in little and _is_spoken(word)]
        values = [token for token in self._tokens if token.is_value]
        if self._is_denied and not _NO_WORRY.search(self._said):
            return not (stems or values or self._grounds.done)  # `Regrettably not.`
        if not _OF_COST.isdisjoint(self._words) or any(word in MONEY | COSTS for word in stems):
            return False
        if all(word in COURTESY or self._is_addressee(word) for word in stems):
            return not values or len(self._tokens) <= LONGEST_ADDRESS
        return is_offer or (WISH.search(self._said) is not None and not self._tells_of_records(stems))

    def _is_offer(self) -> bool:
        """Not what is only said beside one: `we wait for your statement before we can file`."""
        offer = OFFER.search(self._said)
        before = self._said[: offer.start()].split() if offer is not None else []
        return offer is not None and all(
            word in FUNCTION | MANNER | DENIALS or stem_of(word) in COURTESY for word in before
        )

    def _tells_of_records(self, stems: list[str]) -> bool:
        """Whether what is wished for or thanked for may be a fact: `I hope the deposit was returned`."""
        known = self._grounds.states | self._grounds.tool_words | MONEY | COSTS
        return any(word in known for word in stems)

    def _is_known_value(self, token: Token) -> bool:
        every = self._grounds.cells.scope(frozenset()).cells
        is_asked = token.text in self._grounds.evidence.user_instruction.lower()
        return is_asked or any(token.is_held_by(cell) for cell in every)

    def _is_addressee(self, word: str) -> bool:
        return word in self._grounds.names and len(self._tokens) <= LONGEST_ADDRESS

    # What there is none of, and what stayed as it was

    def _look_up_nothing(self) -> None:
        """`Fee: none`, `no rides left`, `costs nothing`: the field that is called so holds nothing."""
        if not _NOTHING.search(self._said):
            return
        stems = {stem_of(word) for word in self._words if word not in FUNCTION} - _OF_NOTHING
        for cell in self._scope.cells:
            is_none = is_nothing(cell.value) or cell.value in (0, False)
            named = frozenset(map(stem, name_tokens(cell.field)))
            is_named = any(not related(word).isdisjoint(named) for word in stems)
            if is_none and is_named and cell.when in (When.IS, When.TOLD):
                own = self._grounds.labels(cell)
                self._settled |= {word for word in self._words if stem_of(word) in own | _OF_NOTHING}

    def _look_up_unchanged(self) -> None:
        """`The price is unchanged`, `I left the record as it was`."""
        if not _UNCHANGED.search(self._said):
            return
        stems = {other for word in self._words if word not in FUNCTION for other in related(stem_of(word))}
        named = [c for c in self._scope.cells if c.when is When.IS and not c.words.isdisjoint(stems)]
        told = [
            cell for at, cells in self._bindings.cells.items() if self._tokens[at].mention for cell in cells
        ]
        if told or named:
            is_so = any(not self._scope.has_changed(cell) for cell in told or named)
        else:
            ids = {thing.id.lower() for thing in self._scope.own}
            is_so = bool(ids) and ids.isdisjoint(self._grounds.facts.touched)
        if is_so:
            of_fields = {word for word in self._words if any(stem_of(word) in cell.words for cell in named)}
            self._settled |= _OF_LEAVING | of_fields

    # Words

    def _is_accounted_for(self, at: int, token: Token) -> bool:
        word, key = token.text.removesuffix("'s"), stem_of(token.text)
        if word in self._settled or not _is_spoken(word):
            return True
        if at < self._segment.labels and key in COURTESY:
            return True  # `Good news:`
        if token.is_value:
            return False  # of a record that is not spoken of
        if word in DENIALS or word.endswith("n't"):
            return self._is_rightly_denied()
        if _is_small(word):
            return self._is_small_word_so(at, word)
        if not self._is_predicate(at, word) and (word in FUNCTION | MANNER or key in REPORTS):
            return True
        if key in self._kinds:
            return True
        if any(map(str.isdigit, word)) or "_" in word:
            return self._is_id(word)
        # `no opening`: of what there is none, only a field that holds none tells, and it was looked up.
        is_none = at > 0 and self._tokens[at - 1].text == "no"
        if (key in BEING and self._says_value) or (self._is_label(at, key) and not is_none):
            return True
        if self._is_deed(key) or self._is_flag(key) or (key in REFUSES and bool(self._grounds.refused)):
            return True
        if word in PARTS_OF_DAY:
            return self._is_part_of_day(word)
        if word in NUMBER_OF_MONTH:
            return any(NUMBER_OF_MONTH[word] == day.month for day in self._days)
        if word in OF_REST and (self._is_denied or self._is_beside_number(at)):
            return True
        if key in CARRIES_OUT and not self._is_denied:
            done = self._grounds.done_words
            return any(stem_of(other) in done for other in self._words if other != token.text)
        if self._is_of_task(at, key) or (self._is_not_so(word, key) and not is_none):
            return True
        parts = word.split("-")  # `the low-priority job`
        return len(parts) > 1 and all(self._is_part_known(at, part) for part in parts)

    def _is_predicate(self, at: int, word: str) -> bool:
        """`The price is down`, `the potter was told`: what otherwise says little says here how a thing is."""
        is_last = at == len(self._tokens) - 1
        before = self._tokens[at - 1].text if at else ""
        is_said = is_last and before in _IS and (word in _PARTICLES or stem_of(word) in REPORTS)
        return is_said and not self._is_denied and not any(token.mention for token in self._tokens)

    def _is_part_known(self, at: int, part: str) -> bool:
        held = {stem(word) for text in self._grounds.texts(self._scope) for word in text.words}
        return (
            part in FUNCTION
            or stem(part) in held
            or self._is_label(at, stem(part))
            or stem(part) in self._grounds.fields(self._scope)
        )

    @cached_property
    def _days(self) -> frozenset[Day]:
        return frozenset(day for cell in self._scope.cells for day in cell.days)

    def _is_beside_number(self, at: int) -> bool:
        beside = self._tokens[max(0, at - 2) : at + 2]
        return any(isinstance(token.mention, Quantity) for token in beside)

    def _is_small_word_so(self, at: int, word: str) -> bool:
        """Only what stands beside a value that was looked up."""
        if word in WEEKDAYS:
            return self._is_weekday(word)
        if word in UNITS:
            return at > 0 and at - 1 in self._bindings.cells
        if word in PAST:
            return any(cell.when is When.WAS for cells in self._bindings.cells.values() for cell in cells)
        return stem_of(word) in self._labels or word in FUNCTION

    def _is_weekday(self, word: str) -> bool:
        days = {
            day
            for at, cells in self._bindings.cells.items()
            if isinstance(self._tokens[at].mention, Dated | Quantity)
            for cell in cells
            for day in cell.days
        }
        return stem(word) in self._grounds.asked or any(_weekday(day) == WEEKDAYS[word] for day in days)

    def _is_of_task(self, at: int, key: str) -> bool:
        """A thing that the user spoke of, or one of those that every backend has."""
        if (
            key in self._grounds.name_words(self._scope)
            or key in self._grounds.fields(self._scope)
            or key in RECORD_NOUNS
        ):
            return True
        before = {token.text for token in self._tokens[max(0, at - 2) : at]}
        is_thing = self._is_denied or not before.isdisjoint(_BEFORE_NOUNS)
        if key in self._grounds.asked and is_thing:
            return True
        return at < self._segment.labels and self._is_label_of_text()

    def _is_not_so(self, word: str, key: str) -> bool:
        """What is denied may be any state or deed of the world's own words; where nothing was done, any."""
        if not self._is_denied:
            return False
        if key in self._grounds.states or key in self._grounds.tool_words or key in MOVES | HELPS:
            return True
        if any(text.words == ("not", word) for text in self._grounds.texts(self._scope)):
            return True
        return _UNDONE.search(self._said) is not None and word.endswith(_PARTICIPLES)

    def _is_rightly_denied(self) -> bool:
        """Not of a deed that a call has done."""
        stems = {stem_of(word) for word in self._words if word not in FUNCTION}
        done = self._grounds.done_words | _COMES_ABOUT
        is_undone = not self._grounds.done or bool(self._grounds.refused) or stems.isdisjoint(done)
        return is_undone and signed_words(self._said).denied.isdisjoint(self._states_now)

    @cached_property
    def _states_now(self) -> frozenset[str]:
        """Stems of the states that what is spoken of is in."""
        held = (
            cell.value
            for cell in self._scope.cells
            if isinstance(cell.value, str) and cell.when is When.IS and self._scope.is_own(cell)
        )
        return frozenset(stem(word) for value in held for word in words_in(value)) & self._grounds.states

    # Names of fields and kinds

    @cached_property
    def _labels(self) -> frozenset[str]:
        """What the values of the segment are called."""
        every = (cell for cells in self._bindings.cells.values() for cell in cells)
        return frozenset(label for cell in every for label in self._grounds.labels(cell))

    def _is_label(self, at: int, key: str) -> bool:
        if not related(key).isdisjoint(self._labels):
            return True
        here = bare(self._tokens[at].text)
        after = here + (bare(self._tokens[at + 1].text) if at + 1 < len(self._tokens) else "")
        before = (bare(self._tokens[at - 1].text) if at else "") + here
        return not self._joined_labels.isdisjoint((here, after, before))

    @cached_property
    def _joined_labels(self) -> frozenset[str]:
        """Names of fields and kinds in one word: `Car park`, of `carpark`; `co-payment`, of `copayment`."""
        fields = {cell.field for cells in self._bindings.cells.values() for cell in cells}
        kinds = {thing.entity_type for thing in (*self._scope.own, *self._scope.linked)}
        names = set(map(bare, fields | kinds))
        return frozenset(name.removesuffix(end) for name in names for end in ("", "s", "id"))

    def _is_label_of_text(self) -> bool:
        """A name for a name may be any word; one for a number or a day says which it is."""
        rest = range(self._segment.labels, len(self._tokens))
        is_text = bool(rest) and rest[0] in self._bindings.cells
        return is_text and not any(self._tokens[at].mention for at in rest)

    @cached_property
    def _kinds(self) -> frozenset[str]:
        """Stems of the kinds of things that are spoken of, and of those that the calls were about."""
        ids = {thing.id.lower() for thing in (*self._scope.own, *self._scope.linked)}
        every = self._grounds.kinds.items()
        kinds = {word for id, words in every if id in ids or not ids for word in words}
        return frozenset(other for word in kinds for other in related(word)) | self._grounds.call_nouns

    # Deeds, flags, ids, times

    def _is_deed(self, key: str) -> bool:
        tells_rule = not BINDS.isdisjoint(self._words) or any(
            stem_of(word) in REFUSES for word in self._words
        )
        is_refused = key in self._grounds.refused_words
        if self._is_denied or (tells_rule and is_refused):
            return is_refused
        made = self._grounds.made
        return key in self._grounds.done_words or any(
            is_so and key in verbs
            for verbs, is_so in (
                (ADDS, made.is_added or made.is_more),
                (MOVES, made.is_changed),
                (LENGTHENS, made.is_later),
                (RAISES, made.is_more),
                (LOWERS, made.is_less),
            )
        )

    def _is_flag(self, key: str) -> bool:
        """`verified`, of a record whose field of that name is true; or false, where it is denied."""
        held = {
            cell.value
            for cell in self._scope.cells
            if isinstance(cell.value, bool) and cell.when in (When.IS, When.TOLD)
            if key in map(stem, name_tokens(cell.field))
        }
        if held:
            return held == {not self._is_denied}
        return not self._is_denied and any(  # `shipped`, where `shipped_at` holds a day
            cell.days and cell.when in (When.IS, When.TOLD) and key in map(stem, name_tokens(cell.field))
            for cell in self._scope.cells
        )

    def _is_id(self, word: str) -> bool:
        name = bare(word)
        known = self._grounds.ids(self._scope, is_past=self._bindings.is_past)
        if name in known or f"0{name}" in known or name in self._grounds.refusal_words:  # `9D`, for 09D
            return True
        is_asked = name in self._grounds.facts.asked_bare
        return is_asked and (self._is_denied or not self._grounds.done)

    @cached_property
    def _says_value(self) -> bool:
        return bool(self._bindings.cells) or any(token.mention for token in self._tokens)

    def _is_part_of_day(self, word: str) -> bool:
        """`in the morning`, of a time that is told."""
        first, last = PARTS_OF_DAY[word]
        told = [token.mention for token in self._tokens if isinstance(token.mention, Timed)]
        return any(first <= minute // 60 < last for one in told for minute in one.minutes)

    # Rules

    @cached_property
    def _names_one(self) -> bool:
        """Whether the segment speaks of a certain record or day."""
        return self._segment.names_one or any(
            at and self._tokens[at].is_capital and self._tokens[at].is_word for at in self._bindings.cells
        )

    def _of_only(self) -> list[Token]:
        """`Claire only gives online lessons`: of one that is named no rule tells that, and no cell can."""
        is_why = bool(self._grounds.refused) and not self._grounds.done and self._names_one
        return [token for token in self._tokens if is_why and not self._is_denied and token.text == "only"]

    def _is_quoted(self, left: list[str]) -> bool:
        """Whether one sentence of the rules or of the backend says all that is left. A rule tells what holds
        of any record, and not that it applies to one that is named."""
        numbers = [
            {abs(value).normalize() for value in token.mention.values}
            for at, token in enumerate(self._tokens)
            if isinstance(token.mention, Quantity) and at not in self._bindings.cells
        ]
        signed = signed_words(self._said)
        content = {stem_of(word) for word in self._words if word not in FUNCTION} - REPORTS
        for rule in self._grounds.rules:
            is_meant = rule.is_reply or not self._names_one
            if not is_meant or not all(values & rule.numbers for values in numbers):
                continue
            is_said = all(rule.says(word) or (word in BINDS and rule.binds) for word in left)
            is_turned = (signed.denied & rule.signed.affirmed) | (signed.affirmed & rule.signed.denied)
            if (
                is_said
                and not is_turned
                and len(content & rule.stems) >= min(1 if rule.is_reply else LEAST_SHARED, len(content))
            ):
                return True
        return False


LONGEST_ADDRESS = 4  # words of a segment that only names somebody: `Of course, Mr Haddad`
LEAST_SHARED = 2  # words that a segment shares with the rule that it quotes
_TRIES = word_set("tried attempted")
_NO_WORRY = re.compile(r"\b(?:don't worry|no (?:worries|problem|trouble)|don't hesitate)\b")
_OF_COST = word_set("free cost charge fee refund extra no without price")
_NOTHING = re.compile(
    r"\b(?:no|none|nothing|zero|without|free|(?:not|n't) (?:have|any|a single|one)"
    r"|(?:does|do|did|has|have|is|are|was|were)n't (?:have|got|a|any|one|been))\b"
)
_OF_NOTHING = frozenset(
    map(stem_of, ["no", "none", "nothing", "zero", "without", "free", "left", "any", "not"])
)
_UNCHANGED = re.compile(
    r"\b(?:unchanged|untouched|unaffected|as (?:it|they) (?:is|was|are|were)|as before|the same|same"
    r"|(?:not|n't|no) (?:been )?(?:touched|changed|affected)|(?:still|it) stands"
    r"|stays?|remains?|left (?:it|the \w+) as)\b"
)
_OF_LEAVING = word_set(
    "stays stay stands remains place put left where unchanged untouched unaffected touched changed "
    "affected same present existing"
)
_LIMIT = re.compile(r"\b(?:at (?:most|least)|no (?:more|less) than|minimum|maximum)\b")
_LIMITS = re.compile(
    r"\b(?:at (?:most|least)|up to|no (?:more|less|later|earlier) than|minimum|maximum|within|must|may"
    r"|have to|has to|only)\b"
)
_PARTS = word_set("to by from for with")  # the last word of a field that tells who took part in a deed
_DONE_BY = word_set("was were been is are i've i we we've have has")
_IS = word_set("is are was were be been went gone goes going it's that's")
_PARTICLES = word_set("up down off over out good")
_UNDONE = re.compile(
    r"\b(?:nothing|nobody|not (?:yet |been )|(?:hasn't|haven't) been|wasn't|weren't|isn't|aren't)\b"
)
_PARTICIPLES = ("ed", "en", "id", "nt")
_COMES_ABOUT = frozenset(map(stem, ("go", "work", "succeed")))
_BEFORE_NOUNS = word_set("a an the your my our their his her this that these those for of")


def _is_small(word: str) -> bool:
    if word in DENIALS:
        return False
    return word in LOGIC or word in UNITS or word in WEEKDAYS or word in NEAR_DAYS or word in PAST - FUNCTION


def _is_amount(token: Token) -> bool:
    one = token.mention
    return isinstance(one, Quantity) and (one.currency is not None or "." in token.text)


def _is_spoken(word: str) -> bool:
    return any(map(str.isalnum, word))


def _weekday(day: Day) -> int | None:
    return date(day.year, day.month, day.day).weekday() if day.year else None
