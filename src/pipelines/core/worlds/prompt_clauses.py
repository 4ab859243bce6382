"""What a prompt says of things: `cancelled`, `total over 200`, `of a non-buyer`, `older than a year`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from pipelines.core.english.stems import stem
from pipelines.core.english.words import tokens
from pipelines.core.json_text import Json, JsonObject
from pipelines.core.simulation.library.dates import moment_of
from pipelines.core.worlds.outline import FieldOutline, TypeOutline
from pipelines.core.worlds.prompt_words import Reader, a_, bare, number_of, refused, span_days
from pipelines.core.worlds.times import is_moment, rank_of, write_moment

Op = Literal["=", "!=", ">", "<", ">=", "<=", "in"]
_OPS: dict[str, Op] = {
    "over": ">", "above": ">", "exceeding": ">", "greater than": ">", "more than": ">", "larger than": ">",
    "after": ">",
    "under": "<", "below": "<", "less than": "<", "smaller than": "<", "fewer than": "<", "before": "<",
    "at least": ">=", "from": ">=", "at most": "<=", "up to": "<=", "not": "!=", "other than": "!=",
    "exactly": "=", "equal to": "=", "of": "=", "=": "=", "set to": "=", "to": "=",
}  # fmt: skip
_LINKS = (
    "and",
    "but",
    ",",
    "with",
    "whose",
    "that",
    "which",
    "who",
    "where",
    "owned",
    "belonging",
    "without",
    "older",
    "newer",
)
_BY = (
    "owned by",
    "belonging to",
    "belong to",
    "held by",
    "placed by",
    "made by",
    "assigned to",
    "for",
    "of",
    "by",
    "from",
)
#: Behind one of these stands what else is said of a thing: the noun itself is before it.
ENDS_NOUN = frozenset((*_LINKS, *(phrase.split()[0] for phrase in _BY))) - {"and", "but", ","}


@dataclass(frozen=True, kw_only=True, slots=True)
class Constraint:
    field: FieldOutline
    op: Op
    value: Json  # a list for `in`

    def holds(self, record: JsonObject) -> bool:
        actual = record.get(self.field.name)
        if self.op == "in":
            return isinstance(self.value, list) and str(actual) in map(str, self.value)
        if self.op in ("=", "!="):
            return (_plain(actual) == _plain(self.value)) == (self.op == "=")
        left, right = _ordered(actual), _ordered(self.value)
        if left is None or right is None or isinstance(left, datetime) != isinstance(right, datetime):
            return False
        return {">": left > right, "<": left < right, ">=": left >= right, "<=": left <= right}[self.op]  # type: ignore[operator]

    def example(self, at: int) -> Json:
        """A value that it holds for; the at-th record may get another one."""
        if self.op == "in" and isinstance(self.value, list):
            return self.value[at % len(self.value)]
        if self.op == "!=":
            others = [each for each in self.field.values if _plain(each) != _plain(self.value)]
            return others[at % len(others)] if others else None
        if self.op in ("=", ">=", "<="):
            return self.value
        if is_moment(self.field):
            moment = moment_of(self.value)
            days = (3 + 2 * at) * (1 if self.op == ">" else -1)
            return (
                write_moment(self.field, moment.at.replace(tzinfo=None) + timedelta(days=days))
                if moment
                else self.value
            )
        if not isinstance(self.value, int | float):
            return self.value
        step = max(1.0, abs(self.value) * 0.05) * (at + 1) * (1 if self.op == ">" else -1)
        value = self.value + step
        if self.op == "<" and self.value >= 0:
            value = max(value, 0 if self.value > 0 else value)
        return round(value) if self.field.kind == "whole" else round(value, 2)


def _plain(value: Json) -> Json:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _ordered(value: Json) -> float | datetime | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    moment = moment_of(value) if isinstance(value, str) else None
    return moment.at.replace(tzinfo=None) if moment is not None else None


def read_adjectives(reader: Reader, own: TypeOutline, words: Sequence[str]) -> list[Constraint]:
    """Words in front of a noun."""
    found: list[Constraint] = []
    at = 0
    while at < len(words):
        word = bare(words[at]).lower()
        if word in (
            "the",
            "of",
            "new",
            "more",
            "additional",
            "other",
            "and",
            ",",
            "existing",
            "all",
            "different",
            "such",
        ):
            at += 1
            continue
        negated = word in ("non", "not") or word.startswith("non-")
        rest = (
            [word.removeprefix("non-"), *words[at + 1 :]]
            if word.startswith("non-")
            else words[at + negated :]
        )
        state = reader.state_at(own, rest)
        if state is None:
            raise refused(f"nothing says whether {a_(own)} is “{bare(words[at])}”", _states_hint(reader, own))
        length, field, value = state
        found.append(Constraint(field=field, op="!=" if negated else "=", value=value))
        at += length + (negated and not word.startswith("non-"))
    return _consistent(own, found)


def _states_hint(reader: Reader, own: TypeOutline) -> str | None:
    known = [str(value) for one in own.fields for value in one.values][:12]
    return f"known of {a_(own)}: {', '.join(known)}" if known else None


def _consistent(own: TypeOutline, found: list[Constraint]) -> list[Constraint]:
    """No field can be two things at once."""
    for at, one in enumerate(found):
        for other in found[at + 1 :]:
            same = one.field.name == other.field.name and one.op == other.op == "="
            if same and _plain(one.value) != _plain(other.value):
                raise refused(
                    f"{one.field.name} of {a_(own)} cannot be both “{one.value}” and “{other.value}”"
                )
    return found


def read_clauses(reader: Reader, own: TypeOutline, words: Sequence[str]) -> list[Constraint]:
    """Everything behind a noun; a word that nothing is known of is a problem."""
    found: list[Constraint] = []
    at = 0
    has_field = False  # what stood before an `and` goes on behind it: with a over 3 and b under 4
    while at < len(words):
        word = words[at].lower()
        if word in ("and", ",", "but", "also"):
            at += 1
            continue
        length, one = _clause(reader, own, words[at:], has_field)
        found.append(one)
        has_field = True
        at += length
    return _consistent(own, found)


def _clause(
    reader: Reader, own: TypeOutline, words: Sequence[str], may_be_bare: bool
) -> tuple[int, Constraint]:
    low = [word.lower() for word in words]
    if low[0] in ("without",) or low[:2] == ["with", "no"]:
        skip = 1 if low[0] == "without" else 2
        skip += low[skip : skip + 1] in (["a"], ["an"], ["any"])
        found = reader.field_at(own, words[skip : _end(low, skip)])
        if found is not None:
            return skip + found[0], Constraint(field=found[1], op="=", value=None)
    if low[0] in ("that", "which", "who", "are", "is", "being") or low[:2] == ["in", "status"]:
        clause = _said_to_be(reader, own, words, low)
        if clause is not None:
            return clause
    aged = _aged(reader, own, words, low)
    if aged is not None:
        return aged
    for phrase in _BY:
        said = phrase.split()
        if low[: len(said)] == said:
            owner = _owned(reader, own, words[len(said) :])
            if owner is not None:
                return len(said) + owner[0], owner[1]
    skip = 1 if low[0] in ("with", "whose", "having", "where", "have", "has") else 0
    skip += low[skip : skip + 1] in (["a"], ["an"], ["the"])
    if skip or may_be_bare:
        field = reader.field_at(own, words[skip : _end(low, skip)])
        if field is not None:
            length, one = _compared(reader, own, field[1], words[skip + field[0] :])
            return skip + field[0] + length, one
    said_of = " ".join(words)
    raise refused(f"“{said_of}” says nothing that is known of {a_(own)}", _fields_hint(own))


def _fields_hint(own: TypeOutline) -> str:
    return f"fields of {a_(own)}: {', '.join(one.name for one in own.fields[:15])}"


def _said_to_be(
    reader: Reader, own: TypeOutline, words: Sequence[str], low: Sequence[str]
) -> tuple[int, Constraint] | None:
    skip = 0
    while skip < len(low) and low[skip] in (
        "that",
        "which",
        "who",
        "are",
        "is",
        "were",
        "was",
        "have",
        "has",
        "been",
        "being",
        "in",
        "status",
    ):
        skip += 1
    negated = low[skip : skip + 1] == ["not"]
    state = reader.state_at(own, words[skip + negated :])
    if state is None:
        return None
    return skip + negated + state[0], Constraint(field=state[1], op="!=" if negated else "=", value=state[2])


def _end(low: Sequence[str], start: int) -> int:
    """Where the words of one clause stop."""
    return next((at for at in range(start, len(low)) if low[at] in _LINKS and at > start), len(low))


def _compared(
    reader: Reader, own: TypeOutline, field: FieldOutline, words: Sequence[str]
) -> tuple[int, Constraint]:
    """`is over 200`, `of gold`, `"in transit"`, `more than 30 days ago`."""
    low = [word.lower() for word in words]
    at = 1 if low[:1] in (["is"], ["are"], ["was"], ["be"]) else 0
    op: Op = "="
    for phrase in sorted(_OPS, key=len, reverse=True):
        said = phrase.split()
        if low[at : at + len(said)] == said:
            op, at = _OPS[phrase], at + len(said)
            break
    end = next((each for each in range(at, len(low)) if low[each] in _LINKS and each > at), len(low))
    if end == at:
        raise refused(f"what {field.name} of {a_(own)} should be is not said")
    said_value = " ".join(words[at:end])
    if is_moment(field) and op in (">", "<") and low[end - 1] == "ago":
        op = "<" if op == ">" else ">"  # more than 30 days ago is before that day
    if op in (">", "<", ">=", "<=") and not is_moment(field) and number_of(said_value) is None:
        raise refused(f"“{said_value}” is no number that {field.name} could be compared with")
    return end, Constraint(field=field, op=op, value=reader.value(own, field, said_value))


# -- whose, and how old


def _owned(reader: Reader, own: TypeOutline, words: Sequence[str]) -> tuple[int, Constraint] | None:
    """`customer C-1`, `a gold customer`, `a non-buyer`, `C-1`."""
    links = own.references
    if not words or not links:
        return None
    low = [bare(word).lower() for word in words]
    for link in links:
        target = reader.ground.outline.types[link.refers_to or ""]
        known = reader.records(target)
        for length in range(min(4, len(words)), 0, -1):
            if bare(words[length - 1]) in known and (
                length == 1 or reader.type_at(words[length - 2 :]) is not None
            ):
                return length, Constraint(field=link, op="=", value=_kept(link, bare(words[length - 1])))
    skip = 1 if low[0] in ("a", "an", "some", "any", "the", "one") else 0
    role = low[skip] if skip < len(low) else ""
    if role.startswith("non-"):
        return skip + 1, _without_role(reader, own, role.removeprefix("non-"), " ".join(words[: skip + 1]))
    noun = reader.find_type(words[skip : skip + 4])
    if noun is None:
        return None
    at, length, target = noun
    found = next((one for one in links if one.refers_to == target.name), None)
    if found is None:
        return None
    wanted = read_adjectives(reader, target, words[skip : skip + at])
    ids = [id for id, record in reader.records(target).items() if all(one.holds(record) for one in wanted)]
    return skip + at + length, _one_of(found, target, ids, " ".join(words[: skip + at + length]))


def _without_role(reader: Reader, own: TypeOutline, role: str, said: str) -> Constraint:
    """A non-buyer: somebody whose role is another, or who has bought nothing."""
    for link in own.references:
        target = reader.ground.outline.types[link.refers_to or ""]
        known = reader.records(target)
        state = reader.state_at(target, [role])
        if state is not None and any(record.get(state[1].name) == state[2] for record in known.values()):
            ids = [id for id, record in known.items() if record.get(state[1].name) != state[2]]
            return _one_of(link, target, ids, said)
        if (
            stem(role) in {stem(word) for word in (*tokens(link.name), *tokens(target.name))}
            or target.is_person
        ):
            taken = {str(record.get(link.name)) for record in reader.records(own).values()}
            return _one_of(link, target, [id for id in known if id not in taken], said)
    raise refused(f"nothing says who is a {role}", _fields_hint(own))


def _one_of(link: FieldOutline, target: TypeOutline, ids: Sequence[str], said: str) -> Constraint:
    if not ids:
        raise refused(f"there is no {target.noun} that is “{said}”", f"add one first: add 1 {target.noun}")
    return Constraint(field=link, op="in", value=[_kept(link, id) for id in ids])


def _kept(link: FieldOutline, id: str) -> Json:
    return int(id) if link.kind == "whole" and id.isdecimal() else id


def _aged(
    reader: Reader, own: TypeOutline, words: Sequence[str], low: Sequence[str]
) -> tuple[int, Constraint] | None:
    """`older than 90 days`, `placed more than a year ago`, `from the last 30 days`, `due in 3 days`."""
    moments = [one for one in own.fields if is_moment(one)]
    if not moments:
        return None
    base = next((one for one in moments if rank_of(one.name) == 1), moments[0])
    text = " ".join(low[:8])
    older = re.match(r"(older|newer|younger) than ", text)
    if older is not None and (span := span_days(words[2:])) is not None and isinstance(span.value, float):
        moment = write_moment(base, reader.now - timedelta(days=span.value))
        return 2 + span.length, Constraint(field=base, op="<" if older[1] == "older" else ">", value=moment)
    recent = re.match(r"(?:from|in|within|of) (?:the )?(?:last|past) ", text)
    if recent is not None:
        skip = len(recent[0].split())
        span = span_days(words[skip:])
        if span is not None and isinstance(span.value, float):
            moment = write_moment(base, reader.now - timedelta(days=span.value))
            return skip + span.length, Constraint(field=base, op=">=", value=moment)
    done = re.match(r"(\w+) (?:(more than|over|less than|at least|exactly) )?", text)
    field = next(
        (one for one in moments if done is not None and stem(done[1]) in {stem(w) for w in one.words}), None
    )
    if done is None or field is None:
        return None
    skip = len(done[0].split())
    span = span_days(words[skip:])
    if span is None or not isinstance(span.value, float) or low[skip + 2 : skip + 3] != ["ago"]:
        return None
    moment = write_moment(field, reader.now - timedelta(days=span.value))
    op: Op = {"more than": "<", "over": "<", "at least": "<=", "less than": ">"}.get(done[2] or "", "=")  # type: ignore[assignment]
    return skip + 3, Constraint(field=field, op=op, value=moment)
