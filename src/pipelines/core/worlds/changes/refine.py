"""A world changed by sentences: what was not asked about keeps its ids and values.

    add 3 cancelled orders owned by a non-buyer       make half of the orders cancelled
    remove 2 customers without orders                 spread created_at of the orders over the last 12 months
    set status of order O-1 to shipped                spread the orders over all customers

Sentences may follow each other (`;`, a full stop, `then`). One that cannot be followed says why, and none is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pipelines.core.ledger.ledger_schema import state_problems
from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.rules.language.text import sentences as in_text
from pipelines.core.simulation.rules.language.text import tokens
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem
from pipelines.core.worlds.changes.edit_records import (
    add_records,
    referred_to,
    remove_records,
    set_values,
    spread_owners,
    spread_times,
    spread_values,
)
from pipelines.core.worlds.changes.sentences import Change, Language, NotRead, WrittenValue
from pipelines.core.worlds.changes.wishes import Wish, a_, refused, value_said
from pipelines.core.worlds.draw import Draw
from pipelines.core.worlds.ground import Ground
from pipelines.core.worlds.outline import FieldOutline, TypeOutline
from pipelines.core.worlds.shapes import NotUnderstood, Refined, Toolset, WorldSize
from pipelines.core.worlds.types.world_outline import types_in
from pipelines.core.worlds.values.times import rank_of

LONGEST_PROMPT = 4_000
MOST_ADDED = 1_000  # by one sentence
MOST_SENTENCES = 20  # each looks at the whole world as the one before left it: 260 of them took 10 s and more
_FORMS = (
    "understood are sentences such as “add 3 cancelled orders”, “add 2 orders whose total is over 100”, "
    "“make half of the orders cancelled”, “spread the orders over all customers”, “remove 2 closed tickets” "
    "and “set status of order O-1 to shipped”; others need a model author"
)


def refine(
    toolset: Toolset, state: JsonObject, prompt: str, *, rng_seed: int, now: str, size: WorldSize
) -> Refined:
    """The world as it is then, or NotUnderstood with every part of the prompt that cannot be followed."""
    if len(prompt) > LONGEST_PROMPT:
        raise refused(f"the prompt has {len(prompt):,} characters; at most {LONGEST_PROMPT:,} are read")
    clauses = sentences(prompt)
    if not clauses:
        raise refused("the prompt is empty", _FORMS)
    if len(clauses) > MOST_SENTENCES:
        raise refused(
            f"the prompt has {len(clauses)} sentences; at most {MOST_SENTENCES} are followed at once"
        )
    problems: list[Problem] = []
    notes: list[str] = []
    current = state
    for number, sentence in enumerate(clauses):
        try:
            draw = Draw(f"{rng_seed}/{number}/{sentence}")
            current, did = _followed(Ground(toolset, current), sentence, draw, now)
            notes.append(did)
        except NotUnderstood as why:
            problems += [_in(sentence, problem, len(clauses)) for problem in why.problems]
    if problems:
        raise NotUnderstood(problems)
    if toolset.ledger_schema is not None and (found := state_problems(toolset.ledger_schema, current, "")):
        raise NotUnderstood(
            [Problem(path="/prompt", message=f"the ledger schema does not allow it: {found[0].said()}")]
        )
    return Refined(state=current, changes_text=" ".join(notes))


def sentences(prompt: str) -> list[str]:
    """One a line, and where the language ends one; also at `;` and `then`. Quoted text is never cut."""
    found: list[str] = []
    for whole in (one for line in prompt[:LONGEST_PROMPT].splitlines() for one in in_text(line)):
        cuts = [one for one in tokens(whole) if one.low in (";", "then")]
        starts, ends = (0, *(one.end for one in cuts)), (*(one.start for one in cuts), len(whole))
        found += [
            whole[start:end].strip(" ,.").removesuffix(" and")
            for start, end in zip(starts, ends, strict=True)
        ]
    return [one.strip(" ,") for one in found if one.strip(" ,")]


def _in(sentence: str, problem: Problem, count: int) -> Problem:
    where = f" (in “{sentence}”)" if count > 1 else ""
    return Problem(path=problem.path, message=problem.message + where, hint=problem.hint)


def _followed(ground: Ground, sentence: str, draw: Draw, now: str) -> "Followed":
    language = Language(ground)
    try:
        change = language.read(sentence)
    except NotRead as why:
        raise refused(f"not understood: {why}", _FORMS) from None
    return _VERBS[change.verb](_Refinement(ground, language, change, draw, now))


@dataclass(frozen=True)  # no slots: what is derived is kept on the record
class _Refinement:
    ground: Ground
    language: Language
    change: Change
    draw: Draw
    now: str

    @cached_property
    def own(self) -> TypeOutline:
        return self.ground.outline.types[self.change.kind]

    @property
    def records(self) -> Mapping[str, JsonObject]:
        return types_in(self.ground.state).get(self.own.name, {})

    def wish(self, need: Expr) -> Wish:
        return Wish(self.ground, self.own, need, self.language.vocabulary, self.now)

    def meant(self) -> list[str]:
        """The records that are named, or that are as it is said."""
        if self.change.ids:
            return [*self.change.ids]
        wish = self.wish(self.change.test)
        return [id for id, record in self.records.items() if wish.holds(id, record)]

    def so_many(self, ids: Sequence[str]) -> int:
        """How many of those are asked for."""
        share, count = self.change.share, self.change.count
        count_wanted = (
            round(len(ids) * share) if share is not None else count if count is not None else len(ids)
        )
        if count_wanted > len(ids) or not ids:
            fewer = f", fewer than {count_wanted:g}" if ids else ""
            raise refused(f"there are only {len(ids)} such {self.own.many}{fewer}")
        return int(count_wanted)

    def given(self) -> JsonObject:
        """Fields and the values that the sentence says for them."""
        found: JsonObject = {}
        for name, field_value in self.change.given:
            value = self.value(self.field(name), field_value)
            if found.setdefault(name, value) != value:
                raise refused(f"{name} of {a_(self.own)} cannot be both “{found[name]}” and “{value}”")
        return found

    def field(self, name: str) -> FieldOutline:
        found = self.own.field(name)
        if found is None:
            known = ", ".join(one.name for one in self.own.fields[:15])
            raise refused(f"{a_(self.own)} has no {name}", f"it has {known}")
        return found

    def value(self, one: FieldOutline, said: WrittenValue) -> Json:
        return value_said(self.own, one, said, types_in(self.ground.state), self.now)


Followed = tuple[JsonObject, str]


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:5]) + (" and others" if len(ids) > 5 else "")


def _add(asked: _Refinement) -> Followed:
    own, count = asked.own, 1 if asked.change.count is None else asked.change.count
    if not 1 <= count <= MOST_ADDED or count != int(count) or asked.change.ids:
        raise refused(f"how many {own.many} to add is not clear", f"a whole number from 1 to {MOST_ADDED:,}")
    given = asked.given()
    wish = asked.wish(asked.change.test)
    state, ids = add_records(asked.ground, own, int(count), given, wish, asked.draw, asked.now)
    if not all(wish.holds(id, types_in(state)[own.name][id]) for id in ids):
        raise refused(f"{a_(own)} cannot be all of that at once")
    return state, f"Added {own.counted(len(ids))}: {_some(ids)}."


def _remove(asked: _Refinement) -> Followed:
    own, removed = asked.own, asked.meant()
    if not removed:
        raise refused(f"no {own.noun} of this world is meant")
    if asked.change.count is not None or asked.change.share is not None:
        # Those first that nothing refers to: they can go without anything else.
        used = referred_to(asked.ground, own)
        order = sorted(asked.draw.shuffled(removed, "removed"), key=lambda id: id in used)
        removed = order[: asked.so_many(removed)]
    state, others = remove_records(asked.ground, own, removed, cascade=asked.change.cascade)
    referring = f", and {others} that referred to them" if others else ""
    return state, f"Removed {own.counted(len(removed))}{referring}: {_some(removed)}."


def _make(asked: _Refinement) -> Followed:
    """`half of the orders cancelled`, `3 customers gold`, `20% of the tickets have priority 5`."""
    own, given, pool = asked.own, asked.given(), asked.meant()
    wish = asked.wish(asked.change.become or m.TRUE)
    target = asked.so_many(pool)
    is_given = {id for id in pool if given.items() <= asked.records[id].items()}
    have = {id for id in is_given if wish.holds(id, asked.records[id])}
    if target <= len(have):
        says = f"Nothing to change: {len(have)} of {len(pool)} {own.many} are so already."
        return asked.ground.state, says
    ids = asked.draw.shuffled([id for id in pool if id not in have], "made")[: target - len(have)]
    changed: dict[str, Mapping[str, Json]] = {}
    for at, id in enumerate(ids):
        record = asked.records[id] | given
        values_wanted = wish.granted(id, record, at)
        changed[id] = {
            name: value for name, value in values_wanted.items() if asked.records[id].get(name) != value
        }
    state = set_values(asked.ground, own, changed, asked.now)
    names = " and ".join(dict.fromkeys(name for values in changed.values() for name in values))
    return state, f"Changed {names} of {own.counted(len(ids))}: {_some(ids)}."


def _set(asked: _Refinement) -> Followed:
    """`status of order O-1 to shipped`, `the tier of all customers to gold`; `clear notes of 2 tickets`."""
    own, meaning, field = asked.own, asked.meant(), asked.change.field
    given = asked.given() or {field or "": asked.value(asked.field(field or ""), WrittenValue("nothing"))}
    ids = asked.draw.shuffled(meaning, "set")[: asked.so_many(meaning)]
    [(name, value)] = given.items()
    state = set_values(asked.ground, own, dict.fromkeys(ids, given), asked.now)
    value_text = value if value is not None else "nothing"
    return state, f"Set {name} of {own.counted(len(ids))} to {value_text}."


def _spread(asked: _Refinement) -> Followed:
    own, ids, ground = asked.own, asked.meant(), asked.ground
    label, over = asked.change.over or ("", "")
    one = asked.field(asked.change.field) if asked.change.field is not None else None
    what = f"{own.counted(len(ids))}"
    if isinstance(over, float) and label == "over_span":
        moment = _moment_field(own, one)
        state = spread_times(ground, own, ids, moment, over, asked.now)
        return state, f"Spread {moment.name} of {what} over {over:.0f} days."
    if label == "over_type":
        target = ground.outline.types[str(over)]
        links = [each for each in own.references if each.refers_to == target.name]
        link = one if one in links else links[0] if links else None
        if link is None:
            raise refused(f"{a_(own)} does not refer to {a_(target)}")
        state = spread_owners(ground, own, ids, link, asked.draw)
        count = len(types_in(ground.state).get(target.name, {}))
        return state, f"Spread {what} over {target.counted(count)}."
    meaning = one or (asked.field(str(over)) if label == "over_field" else None)
    if meaning is None or not (meaning.values or meaning.kind == "boolean"):
        raise refused(
            f"nothing says over which values of {a_(own)}", "say: spread status of … over all values"
        )
    state = spread_values(ground, own, ids, meaning, asked.draw, asked.now)
    return state, f"Spread {meaning.name} of {what} over its values."


def _moment_field(own: TypeOutline, one: FieldOutline | None) -> FieldOutline:
    if one is not None and one.is_moment:
        return one
    moments = [each for each in own.fields if each.is_moment]
    first = [each for each in moments if rank_of(each.name) == 1] or moments
    if not first:
        raise refused(f"{a_(own)} has no date that could be spread")
    return first[0]


_VERBS: Mapping[str, Callable[[_Refinement], Followed]] = {
    "adds": _add,
    "removes": _remove,
    "makes": _make,
    "sets": _set,
    "clears": _set,
    "spreads": _spread,
}
