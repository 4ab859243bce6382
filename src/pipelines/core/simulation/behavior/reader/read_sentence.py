"""A whole sentence, read from what the world has: the rules it lays down, each tied to tools that it fits."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import TypeAlias

from pipelines.core.english.words import singular, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.answers import (
    allows_the_rest,
    answered,
    denies_the_rest,
    outcome,
    tail,
)
from pipelines.core.simulation.behavior.reader.changes import Change, Changes
from pipelines.core.simulation.behavior.reader.computations import Computations
from pipelines.core.simulation.behavior.reader.cursor import Cursor, TooLong
from pipelines.core.simulation.behavior.reader.guards import Guards
from pipelines.core.simulation.behavior.reader.lists import Lists
from pipelines.core.simulation.behavior.reader.nothing_special import says_nothing_special
from pipelines.core.simulation.behavior.reader.phrases import Phrases
from pipelines.core.simulation.behavior.reader.said import Said, clause_of, named
from pipelines.core.simulation.behavior.reader.shown_fields import ShownFields
from pipelines.core.simulation.behavior.reader.tool_names import named_tools
from pipelines.core.simulation.behavior.reader.values import Values
from pipelines.core.simulation.behavior.reader.vocabulary import Deed, Vocabulary
from pipelines.core.simulation.behavior.scope import Scope, Unresolved
from pipelines.core.simulation.behavior.things import ToolWords
from pipelines.core.simulation.behavior.tokens import Token

MOST_TOKENS = 60
MOST_WAYS = 12
Fits: TypeAlias = Callable[[c.Clause], bool]  # whether a clause means something for the tools it names
Clauses: TypeAlias = tuple[c.Clause, ...]


def readings(
    tokens: Sequence[Token], vocabulary: Vocabulary, fits: Fits, spoken_of: Sequence[str] = ()
) -> Iterator[Clauses]:
    """The ways to take a sentence of which every word stands for something here."""
    if len(tokens) > MOST_TOKENS:
        return
    phrases = Phrases(cursor=Cursor(tokens=tokens), words=vocabulary)
    before = tuple(vocabulary.lexicon.tools[name.lower()] for name in spoken_of)
    reader = _SentenceReader(phrases=phrases, guards=Guards(phrases=phrases, before=before), fits=fits)
    try:
        yield from islice(reader.readings(), MOST_WAYS)
    except TooLong:
        return


@dataclass(kw_only=True)
class _SentenceReader:
    phrases: Phrases
    guards: Guards
    fits: Fits

    def readings(self) -> Iterator[Clauses]:
        for answer, end in tail(self.phrases, 0):
            if end == self.phrases.cursor.end:
                yield (c.Otherwise(answer),)
        if says_nothing_special(self.phrases.cursor):
            yield (c.Normal(),)
        if allows_the_rest(self.phrases):
            yield (c.Aside(),)
        yield from self._from(0, None)

    def _from(self, at: int, before: Said | None) -> Iterator[Clauses]:
        """Statements one after another to the end of the sentence."""
        cursor = self.phrases.cursor
        for clauses, said, end in (*self._statements(at, before), *self._rest(at, before)):
            for answer, last in self._answered(end):
                if self._speaks_of_others(clauses, end, last):
                    continue
                made = _out_of_order(_answering(clauses, answer))
                if answer is not None and all(isinstance(clause, c.Aside) for clause in clauses):
                    made = (*made, c.Otherwise(answer))  # it answers the rule that was said twice
                if last == cursor.end:
                    yield made
                    continue
                start = cursor.after(last, "; and", ", and", ", but", ";", ",", "and", ":")
                for rest in self._from(start, said or before) if start is not None else ():
                    yield (*made, *rest)

    def _rest(self, at: int, before: Said | None) -> Iterator[tuple[Clauses, Said | None, int]]:
        """What follows from the rule before anyhow: `other sizes are not offered`."""
        cursor = self.phrases.cursor
        stop = next((place for place in range(at, cursor.end) if cursor.low(place) in (";", "(")), cursor.end)
        stays = cursor.after(at, *(f"{lead} {same}" for lead in ("otherwise", "else") for same in _STAYS))
        if at and stays is not None:
            yield (c.Aside(),), before, stays
        if at and (denies_the_rest(self.phrases, at, stop) or allows_the_rest(self.phrases, at, stop)):
            yield (c.Aside(),), before, stop

    def _speaks_of_others(self, clauses: Clauses, start: int, end: int) -> bool:
        """Whether an answer names a tool that the rule before it is not about."""
        about = {name.lower() for clause in clauses for name in clause.who.names}
        lows = self.phrases.cursor.lows[start:end]
        named = {low for low in lows if low in self.phrases.words.lexicon.tools and "_" in low}
        return bool(about) and not named <= about

    def _answered(self, at: int) -> Iterator[tuple[m.Outcome | None, int]]:
        yield from tail(self.phrases, at)
        yield None, at

    def _statements(self, at: int, before: Said | None) -> Iterator[tuple[Clauses, Said | None, int]]:
        for said, end in self.guards.read(at):
            made = self._tied(said, partial(_guard, said))
            if made:
                yield made, said, end
        for said, changes, end in self._changes.read(at):
            made = self._tied(said, partial(self._changed, said, changes))
            if made:
                yield made, said, end
        for clauses, end in self._unknown_ids(at):
            yield clauses, None, end
        for clauses, end in self._reasoned(at):
            if all(self.fits(clause) for clause in clauses):
                yield clauses, None, end
        for reader in self._others:
            for clauses, end in reader.read(at):
                if all(self.fits(clause) for clause in clauses):
                    yield clauses, self._spoken_of(clauses), end
        if before is not None:
            yield from self._refused_things(at, before)
            yield from self._goes_on(at, before)

    def _goes_on(self, at: int, before: Said) -> Iterator[tuple[Clauses, Said | None, int]]:
        """Of the tools that were named before: `… and never returns a negative balance`."""
        tools = tuple(self.guards.tools_of(before))
        if not before.is_named or not tools:
            return
        for said, changes, end in self._changes.of_tools(tools, at):
            made = self._tied(said, partial(self._changed, said, changes))
            if made:
                yield made, said, end
        for clauses, end in self._told(tools, at):
            if all(self.fits(clause) for clause in clauses):
                yield clauses, before, end

    def _told(self, tools: tuple[ToolWords, ...], at: int) -> Iterator[tuple[Clauses, int]]:
        yield from ShownFields(phrases=self.phrases).of_tools(tools, at)
        yield from Computations(guards=self.guards).of_tools(tools, at)
        if tools[0].reads and tools[0].kind:
            yield from Lists(guards=self.guards).of_tools([*tools], tools[0].kind, at)

    def _spoken_of(self, clauses: Clauses) -> Said | None:
        """The tools of the statement, where it named any: a second one may go on about them."""
        names = dict.fromkeys(name for clause in clauses for name in clause.who.names)
        tools = tuple(self.phrases.words.lexicon.tools[name.lower()] for name in names)
        return named(tools) if tools else None

    def _changed(self, said: Said, changes: tuple[Change, ...], tool: ToolWords, deed: Deed) -> Clauses:
        own = self.phrases.words.lexicon.kinds.get(tool.kind or "")
        if (own is None or not own.fields) and not tool.creates:
            return ()  # what the tool itself does is not known, so that this would be half of it
        made: list[c.Clause] = []
        for change in changes:
            clause = change(tool)
            if clause is None:
                return ()
            if isinstance(clause, c.Normal):
                continue
            so = m.both(*said.so, *said.needed)
            if so is not None or said.exceptions:  # what is said of some calls must not be done by all
                if said.exceptions or not isinstance(clause, (c.Assign, c.Step, c.Become, c.Raise)):
                    return ()
                clause = replace(clause, when=clause.when or so)
            if deed.given is not None and isinstance(clause, (c.Assign, c.Step)):
                clause = replace(clause, when=m.both(clause.when, deed.given))
            made.append(replace(clause, who=_of((tool.name,))))
        return tuple(made)

    @cached_property
    def _changes(self) -> Changes:
        return Changes(guards=self.guards)

    @cached_property
    def _others(self) -> tuple[Values | Lists | ShownFields | Computations, ...]:
        return (
            Values(guards=self.guards),
            Lists(guards=self.guards),
            ShownFields(phrases=self.phrases),
            Computations(guards=self.guards),
        )

    def _reasoned(self, at: int) -> Iterator[tuple[Clauses, int]]:
        """`Reference books never leave the building: checkout_book rejects them with 403`: the reason need
        not be understood where the refusal is said whole, and no rule would hang on a word of it.
        """
        cursor = self.phrases.cursor
        for thing, start in self.phrases.thing(at):
            so = m.both(*thing.so)
            reason = cursor.lows[start : start + LONGEST_REASON]
            length = next((place for place, low in enumerate(reason) if low in (":", ";")), None)
            words = cursor.words(start, start + length) if length else []
            if so is None or length is None or len(words) != length or _NOT_ONLY_WHY & set(words):
                continue
            found = named_tools(self.phrases, start + length + 1)
            if found is None:
                continue
            begin = found[1] + 1 if cursor.low(found[1]) in ("rejects", "refuses", "declines") else found[1]
            begin = cursor.past(begin, word_set("them it those these"))
            begin += cursor.low(begin) == "with"
            answer = outcome(self.phrases, begin) if begin > found[1] else answered(self.phrases, begin)
            if answer is not None and isinstance(answer[0], m.Fail) and answer[0].status:
                who = _of(tuple(tool.name for tool in found[0]))
                end = cursor.after(answer[1], "for them", "for it", "on them") or answer[1]
                yield (c.Guard(m.negated(so), answer[0], who),), end

    def _unknown_ids(self, at: int) -> Iterator[tuple[Clauses, int]]:
        """`Unknown order ids return a 404 unknown_order error`, of whichever tool looks one up."""
        cursor, who = self.phrases.cursor, m.Who(everyone=True)
        begin = cursor.after(at, "if", "when", "for", "asking for", "looking up", "requesting") or at
        asked = named_tools(self.phrases, at + 1) if cursor.low(at) in ("asking", "calling") else None
        if asked is not None:
            who = _of(tuple(tool.name for tool in asked[0]))
            begin = cursor.past(asked[1], word_set("for with of"))
        elif begin == at and cursor.low(at).endswith("ing") and self.phrases.words.deeds_of(cursor.low(at)):
            begin = at + 1  # tracking an unknown parcel
        for kind, end in self.phrases.unknown(begin):
            for answer, last in tail(self.phrases, end) if kind else ():
                yield (c.Unknown(kind, answer, who),), last

    def _refused_things(self, at: int, before: Said) -> Iterator[tuple[Clauses, Said | None, int]]:
        """`; for picked or shipped ones answer 409`, `members without any passes left get 403`."""
        cursor = self.phrases.cursor
        also = cursor.after(at, "so is", "so are")
        for event, end in self.guards.events(also) if also is not None and before.is_forbidden else ():
            made = self._tied(event, partial(_guard, event))
            if made:
                yield made, event, end
        neither = cursor.after(
            at, "neither may", "neither can", "nor may", "nor can", "neither are", "nor are"
        )
        start = neither or at + (cursor.low(at) == "for")
        for thing, end in self.phrases.thing(start):
            so = m.both(*thing.so)
            if so is None or (neither is None and next(tail(self.phrases, end), None) is None):
                continue
            if cursor.low(end - 1) == "ones" and thing.kind not in before.kinds:
                continue
            said = replace(
                before, things=(thing,), so=(so,), needed=(), exceptions=(), is_forbidden=True, times=None
            )
            made = self._tied(said, partial(_guard, said))
            if made:
                yield made, said, end

    # -- which tools

    def _tied(self, said: Said, make: Callable[[ToolWords, Deed], Clauses]) -> Clauses:
        made: list[c.Clause] = []
        for deeds in said.verbs or (self._implied(said),):
            found = self._chosen(said, deeds, make)
            if not found:
                return ()
            made += found
        return tuple(made)

    def _implied(self, said: Said) -> tuple[Deed, ...]:
        """`Orders over 200 are rejected`: no verb says so, but making one is meant."""
        lexicon = self.phrases.words.lexicon
        tools = [tool for tool in lexicon.tools.values() if not tool.reads]
        asked = {field.name for one in (*said.so, *said.needed) for field in _given_fields(one)}
        if asked:  # `The off_peak plan is for members over 60`: whatever is given a plan
            found = [tool for tool in tools if asked <= set(tool.arguments)]
            return tuple(Deed(tool=tool.name, rank=0) for tool in found)
        if len(said.kinds) == 1:
            new = [tool for tool in tools if tool.kind == said.kinds[0]]
            made = [tool for tool in new if tool.creates or lexicon.id_argument(tool, said.kinds[0]) is None]
            about = self.phrases.words.is_about
            made = made or [tool for tool in tools if tool.creates and about(tool, said.kinds[0])]
        else:  # `members under 18 are not allowed into such sessions`: what takes both
            about = self.phrases.words.is_about
            made = [tool for tool in tools if all(about(tool, kind) for kind in said.kinds)]
            made = [tool for tool in made if tool.makes] if len(made) > 1 else made
        return tuple(Deed(tool=tool.name, rank=0) for tool in made) if len(made) == 1 else ()

    def _told_apart(self, said: Said, deeds: tuple[Deed, ...]) -> tuple[Deed, ...]:
        """`Changing the bank details` is `update_bank_details`, and not `change_hourly_rate`: those of which
        every word is said that tells them from others, where there are such."""
        spoken = {singular(low) for low in self.phrases.cursor.lows}
        kinds = {singular(word) for kind in said.kinds for word in words_of(kind)}
        own = {deed: self._tool(deed).words - kinds - {self._tool(deed).verb} for deed in deeds}
        told = tuple(deed for deed in deeds if len(own[deed]) > 1 and own[deed] <= spoken)
        return told or deeds

    def _chosen(
        self, said: Said, deeds: tuple[Deed, ...], make: Callable[[ToolWords, Deed], Clauses]
    ) -> list[c.Clause]:
        """The tools that do it in the nearest sense of the verb, to most of the things that are named."""
        deeds = self._told_apart(said, deeds)
        for rank in sorted({deed.rank for deed in deeds}):
            found: list[tuple[int, Deed, Clauses]] = []
            of_rank = [deed for deed in deeds if deed.rank == rank]
            for deed in of_rank:
                clauses = () if self._is_done_to(said, deed) else make(self._tool(deed), deed)
                if clauses and all(self.fits(clause) for clause in clauses):
                    found.append((self._named_things(said, deed), deed, clauses))
            most = max((count for count, _, _ in found), default=0)
            kept = [(deed, clauses) for count, deed, clauses in found if count == most]
            if kept and (most or not said.kinds or said.is_named):
                return _together(kept)
            if any(self._is_about_some(said, deed) for deed in of_rank):
                return []  # this tool is meant, and the rule does not fit it
        return []

    def _is_done_to(self, said: Said, deed: Deed) -> bool:
        """`Only admins can delete users`: whoever calls is not whom it is done to. A list refuses nothing."""
        tool = self._tool(deed)
        answers = isinstance(said.outcome, m.Reply)  # `returns an empty list` refuses nothing either
        if (
            not answers
            and tool.reads
            and tool.name.lower() not in self.phrases.cursor.lows
            and (tool.kind is None or self.phrases.words.lexicon.id_argument(tool, tool.kind) is None)
        ):
            return True
        caller = self.phrases.words.lexicon.id_argument
        if any(kind != tool.kind and caller(tool, kind) is None for kind in said.agents):
            return True  # whoever does it is not named in the call
        is_active = not said.things or said.things[0].kind != tool.kind or len(said.things) > 1
        by_role = any(isinstance(one, m.CallerIs) for one in _leaves(clause_of(said, tool, deed.given)))
        return tool.kind in said.agents and not tool.creates and (is_active or said.is_named) and not by_role

    def _tool(self, deed: Deed) -> ToolWords:
        return self.phrases.words.lexicon.tools[deed.tool.lower()]

    def _is_about_some(self, said: Said, deed: Deed) -> bool:
        return any(self.phrases.words.is_about(self._tool(deed), kind) for kind in said.kinds)

    def _named_things(self, said: Said, deed: Deed) -> int:
        about = self.phrases.words.is_about
        return sum(2 * about(self._tool(deed), kind) or self._reaches(deed, kind) for kind in said.kinds)

    def _reaches(self, deed: Deed, kind: str) -> bool:
        try:
            Scope(tool=self._tool(deed), lexicon=self.phrases.words.lexicon, reaches_far=True).base(kind)
        except Unresolved:
            return False
        return True


_STAYS = tuple(
    f"{it} {stay} {same}"
    for it, stay in (("it", "stays"), ("they", "stay"), ("it", "remains"), ("they", "remain"))
    for same in ("as it is", "as they are", "unchanged", "the same")
)
LONGEST_REASON = 10  # words; more of them say more than why
_NOT_ONLY_WHY = word_set(
    "if when while once until till unless only except but or nor otherwise before after during within "
    "than more less least most over under above below with without whose who which both either neither"
)


def _of(names: tuple[str, ...]) -> m.Who:
    return m.Who(names=names, reaches_links=True)


def _given_fields(so: m.Condition) -> Iterator[m.Field]:
    match so:
        case m.Present(m.Field(is_argument=True) as field) | m.OneOf(m.Field(is_argument=True) as field, _):
            yield field
        case m.Compare(m.Field(is_argument=True) as field, _, _):
            yield field
        case m.Not(part) | m.Allowed(part):
            yield from _given_fields(part)
        case m.All(parts) | m.Any_(parts):
            for part in parts:
                yield from _given_fields(part)


def _leaves(clause: c.Clause | None) -> Iterator[m.Condition]:
    if isinstance(clause, c.Guard):
        yield from _parts(clause.need)


def _parts(so: m.Condition) -> Iterator[m.Condition]:
    match so:
        case m.Not(part) | m.Allowed(part):
            yield from _parts(part)
        case m.All(parts) | m.Any_(parts):
            for part in parts:
                yield from _parts(part)
        case _:
            yield so


def _guard(said: Said, tool: ToolWords, deed: Deed) -> Clauses:
    clause = clause_of(said, tool, deed.given)
    return (clause,) if clause is not None else ()


def _out_of_order(clauses: Clauses) -> Clauses:
    """A tool that never works, and of which no answer is told, answers as a service that is down does."""
    down = m.Fail(503, "service_unavailable")
    return tuple(
        replace(clause, outcome=down)
        if isinstance(clause, c.Guard) and clause.need == m.Not(m.Always()) and clause.outcome is None
        else clause
        for clause in clauses
    )


def _answering(clauses: Clauses, outcome: m.Outcome | None) -> Clauses:
    if outcome is None:
        return clauses
    return tuple(
        replace(clause, outcome=outcome)
        if isinstance(clause, (c.Guard, c.Once, c.Rarely))
        and (
            clause.outcome is None or not isinstance(clause.outcome, m.Fail) or clause.outcome.status is None
        )
        else clause
        for clause in clauses
    )


def _together(kept: list[tuple[Deed, Clauses]]) -> list[c.Clause]:
    """One clause for the tools for which it is the same."""
    merged: dict[str, c.Clause] = {}
    for deed, clauses in kept:
        for clause in clauses:
            key = repr(replace(clause, who=m.IT))
            known = merged.get(key)
            names = tuple(dict.fromkeys((*(known.who.names if known else ()), deed.tool)))
            who = m.Who(names=names, noun=clause.who.noun, reaches_links=True)
            merged[key] = replace(clause, who=who)
    return list(merged.values())
