"""A world changed by sentences: what was not asked about keeps its ids and values.

    add 3 cancelled orders owned by a non-buyer       make half of the orders cancelled
    remove 2 customers without orders                 spread created_at of the orders over the last 12 months
    set status of order O-1 to shipped                spread the orders over all customers

Sentences may follow each other (`;`, a full stop, `then`). One that cannot be followed says why, and none is.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from pipelines.core.english.words import plural, singular
from pipelines.core.json_text import JsonObject
from pipelines.core.ledger_schema import state_problems
from pipelines.core.problems import Problem
from pipelines.core.worlds.changes import (
    add_records,
    referred_to,
    remove_records,
    set_values,
    spread_owners,
    spread_times,
    spread_values,
)
from pipelines.core.worlds.draw import Draw
from pipelines.core.worlds.ground import Ground
from pipelines.core.worlds.outline import FieldOutline, TypeOutline
from pipelines.core.worlds.prompt_clauses import ENDS_NOUN, Constraint, read_adjectives, read_clauses
from pipelines.core.worlds.prompt_words import (
    LONGEST_PROMPT,
    Reader,
    a_,
    bare,
    number_of,
    refused,
    sentences,
    span_days,
    words_of,
)
from pipelines.core.worlds.shapes import NotUnderstood, Refined, Toolset, WorldSize
from pipelines.core.worlds.times import is_moment, rank_of

MOST_ADDED = 1_000  # by one sentence
MOST_SENTENCES = 20  # each looks at the whole world as the one before left it: 260 of them took 10 s and more
_FORMS = (
    "understood are sentences such as “add 3 cancelled orders”, “make half of the orders cancelled”, “spread "
    "the orders over all customers”, “remove 2 closed tickets” and “set status of order O-1 to shipped”; "
    "others need a model author"
)
_ALL = ("all", "every", "each", "the", "any")


def refine(
    toolset: Toolset, state: JsonObject, prompt: str, *, rng_seed: int, now: str, size: WorldSize
) -> Refined:
    """The world as it is then, or NotUnderstood with every part of the prompt that cannot be followed."""
    if len(prompt) > LONGEST_PROMPT:
        raise refused(f"the prompt has {len(prompt):,} characters; at most {LONGEST_PROMPT:,} are read")
    asked = sentences(prompt)
    if not asked:
        raise refused("the prompt is empty", _FORMS)
    if len(asked) > MOST_SENTENCES:
        raise refused(f"the prompt has {len(asked)} sentences; at most {MOST_SENTENCES} are followed at once")
    problems: list[Problem] = []
    told: list[str] = []
    current = state
    for number, sentence in enumerate(asked):
        try:
            current, did = _followed(toolset, current, sentence, Draw(f"{rng_seed}/{number}/{sentence}"), now)
            told.append(did)
        except NotUnderstood as why:
            problems += [_in(sentence, problem, len(asked)) for problem in why.problems]
    if problems:
        raise NotUnderstood(problems)
    if toolset.ledger_schema is not None and (found := state_problems(toolset.ledger_schema, current, "")):
        raise NotUnderstood(
            [Problem(path="/prompt", message=f"the ledger schema does not allow it: {found[0].said()}")]
        )
    return Refined(state=current, changes_text=" ".join(told))


def _in(sentence: str, problem: Problem, count: int) -> Problem:
    where = f" (in “{sentence}”)" if count > 1 else ""
    return Problem(path=problem.path, message=problem.message + where, hint=problem.hint)


def _followed(
    toolset: Toolset, state: JsonObject, sentence: str, draw: Draw, now: str
) -> tuple[JsonObject, str]:
    words = words_of(sentence.rstrip(". "))
    if words and words[0].lower() in ("please", "also", "and", "now", "then"):
        words = words[1:]
    ground = Ground(toolset, state)
    reader = Reader(ground, datetime.fromisoformat(now).replace(tzinfo=None))
    verb = words[0].lower() if words else ""
    follow = _VERBS.get(verb)
    if follow is None or len(words) < 2:
        raise refused(f"not understood: “{sentence}”", _FORMS)
    return follow(_Sentence(reader, words[1:], draw, now, sentence))


@dataclass(frozen=True, slots=True)
class _Sentence:
    reader: Reader
    words: Sequence[str]  # behind the verb
    draw: Draw
    now: str
    text: str

    def thing(self, words: Sequence[str]) -> tuple[TypeOutline, list[str], list[str]]:
        """The type, the words before its noun and those behind it."""
        found = self.reader.find_type(words)
        head = next((at for at, word in enumerate(words) if word.lower() in ENDS_NOUN), len(words))
        if found is None or found[0] >= head:
            for at in range(head - 1, -1, -1):  # `2 vaccinated dogs`: the noun is itself what they are like
                own = self.reader.type_by_value(words[at])
                if own is not None:
                    return own, [*words[:at], singular(bare(words[at]).lower())], list(words[at + 1 :])
        if found is None:
            kinds = ", ".join(self.reader.ground.outline.types)
            raise refused(f"“{' '.join(words)}” names no type of this world", f"there are: {kinds}")
        at, length, kind = found
        return kind, list(words[:at]), list(words[at + length :])

    def matching(self, own: TypeOutline, wanted: Sequence[Constraint]) -> list[str]:
        records = self.reader.records(own)
        return [id for id, record in records.items() if all(one.holds(record) for one in wanted)]


Followed = tuple[JsonObject, str]


def _many(own: TypeOutline, count: int) -> str:
    words = own.noun.split()
    return own.noun if count == 1 else " ".join((*words[:-1], plural(words[-1])))


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:5]) + (" and others" if len(ids) > 5 else "")


# -- add


def _add(said: _Sentence) -> Followed:
    count = number_of(said.words[0])
    words = said.words[1:] if count is not None else said.words
    if count is None and said.words[0].lower() not in ("some", "more"):
        count = 1.0 if said.words[0].lower() not in ("some", "a few") else None
    if said.words[0].lower() in ("some", "more"):
        count, words = 3.0, said.words[1:]
    if count is None or count < 1 or count > MOST_ADDED or not count.is_integer():
        raise refused(
            f"how many to add is not clear from “{said.text}”", f"a whole number from 1 to {MOST_ADDED:,}"
        )
    own, before, behind = said.thing(words)
    wanted = [*read_adjectives(said.reader, own, before), *read_clauses(said.reader, own, behind)]
    _refuse_contradiction(own, wanted)
    state, ids = add_records(said.reader.ground, own, int(count), wanted, said.draw, said.now)
    return state, f"Added {len(ids)} {_many(own, len(ids))}: {_some(ids)}."


def _refuse_contradiction(own: TypeOutline, wanted: Sequence[Constraint]) -> None:
    for one in wanted:
        if one.field.name == own.id_field:
            raise refused(
                f"ids are given by the world: {one.field.name} of a new {own.noun} cannot be chosen"
            )
        for other in wanted:
            if (
                one.field.name == other.field.name
                and one.op == "="
                and not other.holds({one.field.name: one.value})
            ):
                raise refused(
                    f"{one.field.name} of {a_(own)} cannot be {one.value} and {other.op} {other.value}"
                )


# -- remove


def _remove(said: _Sentence) -> Followed:
    words = list(said.words)
    cascade = re.search(
        r" and (?:everything|all|whatever) that refers to (?:it|them)$", " ".join(words).lower()
    )
    if cascade is not None:
        words = words[: -len(cascade[0].split())]
    count = number_of(words[0]) if words[0].lower() not in ("a", "an") else 1.0
    words = words[1:] if count is not None or words[0].lower() in _ALL else words
    own, before, behind = said.thing(words)
    named = [bare(word) for word in behind if bare(word) in said.reader.records(own)]
    if named and all(bare(word) in named or word in ("and", ",") for word in behind):
        ids = named
    else:
        unused, behind = _without_others(said, own, behind)
        wanted = [*read_adjectives(said.reader, own, before), *read_clauses(said.reader, own, behind)]
        ids = [id for id in said.matching(own, wanted) if unused is None or id in unused]
    if not ids:
        raise refused(f"no {own.noun} of this world is meant by “{said.text}”")
    if count is not None and count > len(ids):
        raise refused(f"there are only {len(ids)} such {_many(own, 2)}, fewer than {count:g}")
    gone = ids
    if count is not None:
        # Those first that nothing refers to: they can go without anything else.
        used = referred_to(said.reader.ground, own)
        gone = sorted(said.draw.shuffled(ids, "removed"), key=lambda id: id in used)[: int(count)]
    state, others = remove_records(said.reader.ground, own, gone, cascade=cascade is not None)
    beside = f", and {others} that referred to them" if others else ""
    return (
        state,
        f"Removed {len(gone)} {_many(own, len(gone))}{beside}: {_some(gone)}.",
    )


def _without_others(
    said: _Sentence, own: TypeOutline, behind: list[str]
) -> tuple[set[str] | None, list[str]]:
    """`customers without orders`: those that no order refers to."""
    if len(behind) < 2 or behind[0].lower() not in ("without",):
        return None, behind
    noun = said.reader.type_at([word for word in behind[1:] if word.lower() not in ("any", "a", "an")])
    if noun is None:
        return None, behind
    other = noun[1]
    links = [one for one in other.references if one.refers_to == own.name]
    if not links:
        return None, behind
    used = {str(record.get(one.name)) for one in links for record in said.reader.records(other).values()}
    skip = 1 + (behind[1].lower() in ("any", "a", "an")) + noun[0]
    return {id for id in said.reader.records(own) if id not in used}, behind[skip:]


# -- make and set


_SHARES = {"half": 0.5, "third": 1 / 3, "quarter": 0.25, "most": 0.75, "all": 1.0, "every": 1.0, "each": 1.0}


def _make(said: _Sentence) -> Followed:
    """`half of the orders cancelled`, `3 customers gold`, `20% of the tickets have priority 5`."""
    words = list(said.words)
    share, count, used = _how_many(words)
    own, before, behind = said.thing(words[used:])
    chosen = read_adjectives(said.reader, own, before)
    wanted = _outcome(said, own, behind)
    pool = said.matching(own, chosen)
    target = round(len(pool) * share) if share is not None else int(count or len(pool))
    if target > len(pool):
        raise refused(f"there are only {len(pool)} such {_many(own, 2)}, fewer than {target}")
    have = [id for id in pool if all(one.holds(said.reader.records(own)[id]) for one in wanted)]
    missing = target - len(have)
    if missing <= 0:
        return (
            said.reader.ground.state,
            f"Nothing to change: {len(have)} of {len(pool)} {_many(own, 2)} are so already.",
        )
    ids = said.draw.shuffled([id for id in pool if id not in have], "made")[:missing]
    state = set_values(said.reader.ground, own, ids, wanted, said.now)
    return (
        state,
        f"Changed {_told(wanted)} of {len(ids)} {_many(own, len(ids))}: {_some(ids)}.",
    )


def _how_many(words: Sequence[str]) -> tuple[float | None, float | None, int]:
    """A share or a number, and how many words said so."""
    low = [word.lower() for word in words]
    at = 1 if low[0] in ("a", "one", "the") and low[1:2] and low[1] in _SHARES else 0
    share = _SHARES.get(low[at])
    count: float | None = None
    if share is None and low[at].endswith("%"):
        share = (number_of(low[at]) or 0) / 100
    elif share is None:
        count = number_of(low[at])
    used = at + 1 if share is not None or count is not None else 0
    while used < len(low) and low[used] in ("of", "the", "percent", "all"):
        used += 1
    return share, count, used


def _outcome(said: _Sentence, own: TypeOutline, behind: list[str]) -> list[Constraint]:
    """What they are to be: a state, or fields with values."""
    words = behind
    if words and words[0].lower() in ("be", "to", "into", "as", "become", "look"):
        words = words[1:]
    if not words:
        raise refused(f"what the {_many(own, 2)} should become is not said in “{said.text}”")
    low = words[0].lower()
    if low in ("have", "with", "whose", "belong", "owned", "belonging", "older", "newer", "without"):
        wanted = read_clauses(said.reader, own, ["with", *words[1:]] if low == "have" else words)
    else:
        wanted = read_adjectives(said.reader, own, words)
    _refuse_contradiction(own, wanted)
    return wanted


def _told(wanted: Sequence[Constraint]) -> str:
    return " and ".join(dict.fromkeys(one.field.name for one in wanted))


def _set(said: _Sentence) -> Followed:
    """`status of order O-1 to shipped`, `the tier of all customers to gold`, `notes of 2 tickets to null`."""
    low = [word.lower() for word in said.words]
    of = next((at for at, word in enumerate(low) if word in ("of", "for", "on")), None)
    to = next((at for at in range(len(low) - 1, 0, -1) if low[at] in ("to", "=", "as")), None)
    if of is None or to is None or not 0 < of < to < len(low) - 1:
        raise refused(f"not understood: “{said.text}”", "such as: set status of order O-1 to shipped")
    # A value may have a `to` of its own: the first one behind the things is meant.
    to = next(at for at in range(of + 1, len(low)) if low[at] in ("to", "=", "as"))
    return _set_field(said, said.words[:of], said.words[of + 1 : to], " ".join(said.words[to + 1 :]))


def _clear(said: _Sentence) -> Followed:
    low = [word.lower() for word in said.words]
    if "of" not in low[1:-1]:
        raise refused(f"not understood: “{said.text}”", "such as: clear notes of ticket T-1")
    of = low.index("of", 1)
    return _set_field(said, said.words[:of], said.words[of + 1 :], "nothing")


def _set_field(said: _Sentence, name: Sequence[str], things: Sequence[str], value: str) -> Followed:
    share, count, used = _how_many(things)
    if things and bare(things[used if used < len(things) else 0]).lower() in _ALL:
        used += 1
    own, before, behind = said.thing(things[used:])
    field = said.reader.field_at(own, [word for word in name if word.lower() != "the"])
    if field is None:
        raise refused(
            f"{a_(own)} has no “{' '.join(name)}”",
            f"it has {', '.join(one.name for one in own.fields[:15])}",
        )
    if field[1].name == own.id_field:
        raise refused(f"{own.id_field} is the id of {a_(own)}: others refer to it, so it stays")
    records = said.reader.records(own)
    named = [bare(word) for word in behind if bare(word) in records]
    if named and all(bare(word) in named or word in ("and", ",") for word in behind):
        ids = named
    elif len(behind) == 1 and re.search(r"\d", behind[0]):
        raise refused(
            f"there is no {own.noun} {bare(behind[0])}", f"for example {next(iter(records), 'none')}"
        )
    else:
        wanted = [*read_adjectives(said.reader, own, before), *read_clauses(said.reader, own, behind)]
        ids = said.matching(own, wanted)
        target = round(len(ids) * share) if share is not None else int(count or len(ids))
        if target > len(ids) or not ids:
            raise refused(f"there are only {len(ids)} such {_many(own, 2)}")
        ids = said.draw.shuffled(ids, "set")[:target]
    one = Constraint(field=field[1], op="=", value=said.reader.value(own, field[1], value))
    state = set_values(said.reader.ground, own, ids, [one], said.now)
    return (
        state,
        f"Set {field[1].name} of {len(ids)} {_many(own, len(ids))} to "
        f"{one.value if one.value is not None else 'nothing'}.",
    )


# -- spread


def _spread(said: _Sentence) -> Followed:
    low = [word.lower() for word in said.words]
    over = next(
        (at for at, word in enumerate(low) if word in ("over", "across", "among", "between", "evenly")), None
    )
    if over is None or over == 0 or over == len(low) - 1:
        raise refused(f"not understood: “{said.text}”", "such as: spread the orders over all customers")
    what, target = (
        list(said.words[:over]),
        [
            word
            for word in said.words[over + 1 :]
            if word.lower() not in ("over", "across", "the", "all", "its", "their", "different")
        ],
    )
    of = next((at for at, word in enumerate(what) if word.lower() in ("of", "for")), None)
    own, before, _ = said.thing(what[of + 1 :] if of is not None else what)
    ids = said.matching(
        own, read_adjectives(said.reader, own, [] if of is None and _is_field(said, own, before) else before)
    )
    field = (
        said.reader.field_at(own, [w for w in what[:of] if w.lower() != "the"]) if of is not None else None
    )
    one = field[1] if field is not None else None
    if of is not None and one is None:
        raise refused(
            f"{a_(own)} has no “{' '.join(what[:of])}”",
            f"it has {', '.join(f.name for f in own.fields[:15])}",
        )
    return _spread_over(said, own, ids, one, target)


def _is_field(said: _Sentence, own: TypeOutline, before: Sequence[str]) -> bool:
    return not before or said.reader.field_at(own, before) is not None


def _spread_over(
    said: _Sentence, own: TypeOutline, ids: Sequence[str], one: FieldOutline | None, target: Sequence[str]
) -> Followed:
    over = " ".join(target)
    noun = said.reader.type_at(target) if target else None
    days = _span(target)
    what = f"{len(ids)} {_many(own, len(ids))}"
    if days is not None:
        moment = _moment_field(own, one)
        state = spread_times(said.reader.ground, own, ids, moment, days, said.now)
        return state, f"Spread {moment.name} of {what} over {over}."
    if noun is not None:
        links = [each for each in own.references if each.refers_to == noun[1].name]
        link = one if one in links else links[0] if links else None
        if link is None:
            raise refused(f"{a_(own)} does not refer to {a_(noun[1])}")
        state = spread_owners(said.reader.ground, own, ids, link, said.draw)
        return state, f"Spread {what} over {len(said.reader.records(noun[1]))} {_many(noun[1], 2)}."
    meant = _valued_field(said, own, one, target)
    state = spread_values(said.reader.ground, own, ids, meant, said.draw, said.now)
    return state, f"Spread {meant.name} of {what} over its values."


def _span(target: Sequence[str]) -> float | None:
    """`last 12 months`, `year`."""
    words = [word for word in target if word.lower() not in ("last", "past", "next")]
    span = span_days(words) or (span_days(["1", *words]) if len(words) == 1 else None)
    return span.value if span is not None and isinstance(span.value, float) else None


def _moment_field(own: TypeOutline, one: FieldOutline | None) -> FieldOutline:
    if one is not None and is_moment(one):
        return one
    moments = [each for each in own.fields if is_moment(each)]
    first = [each for each in moments if rank_of(each.name) == 1] or moments
    if not first:
        raise refused(f"{a_(own)} has no date that could be spread")
    return first[0]


def _valued_field(
    said: _Sentence, own: TypeOutline, one: FieldOutline | None, target: Sequence[str]
) -> FieldOutline:
    """The field whose values are meant: `status … over all values`, `… across statuses`."""
    over = " ".join(target)
    named = said.reader.field_at(own, [singular(target[-1].lower())]) if target and one is None else None
    meant = one or (named[1] if named is not None else None)
    if meant is None or not (meant.values or meant.kind == "boolean"):
        raise refused(f"“{over}” is neither a type, a span of time nor the values of a field of {a_(own)}")
    if named is None and (not target or target[-1].lower() not in ("values", "value", "options", "states")):
        raise refused(f"{meant.name} of {a_(own)} cannot be spread over “{over}”", "say: over all values")
    return meant


_VERBS: dict[str, Callable[[_Sentence], Followed]] = {
    **dict.fromkeys(("add", "create", "insert", "include", "generate"), _add),
    **dict.fromkeys(("remove", "delete", "drop"), _remove),
    **dict.fromkeys(("make", "turn", "mark", "let"), _make),
    **dict.fromkeys(("set", "change", "update", "fix", "give"), _set),
    **dict.fromkeys(("clear", "empty", "unset"), _clear),
    **dict.fromkeys(("spread", "distribute", "vary", "scatter"), _spread),
}
