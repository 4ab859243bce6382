"""Advisories that records alone tell: values, references, sums, times and texts."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from pipelines.core.english.words import tokens, word_set
from pipelines.core.simulation.domain.references import ID_WORDS
from pipelines.core.simulation.library.dates import moment_of
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.worlds.ground import Ground
from pipelines.core.worlds.outline import FieldOutline, TypeOutline
from pipelines.core.worlds.shapes import Advisory
from pipelines.core.worlds.types.world_outline import types_in
from pipelines.core.worlds.values.sums import lines_of, sums_of
from pipelines.core.worlds.values.times import INITIAL, has_happened, rank_of, said_state, write_moment

SHOWN = 5  # places of one advisory
MENDED = 5  # records that one fix names
FEWEST = 3  # records of a type: fewer are no pattern
NARROW = timedelta(days=30)
_KEYS = word_set("email username sku symbol isbn phone barcode vin ssn iban handle")


def _records(ground: Ground) -> Iterator[tuple[TypeOutline, dict[str, JsonObject]]]:
    for name, records in types_in(ground.state).items():
        yield ground.outline.types[name], records


def _places(own: TypeOutline, ids: Iterable[str], field: str) -> tuple[str, ...]:
    return tuple(pointer([own.name, id, field]) for _, id in zip(range(SHOWN), ids, strict=False))


def unused_enum_value(ground: Ground, now: str) -> Iterator[Advisory]:
    for own, records in _records(ground):
        for one in own.fields:
            if not one.values or not one.is_closed or not records or one.kind == "boolean":
                continue
            used = [record.get(one.name) for record in records.values()]
            unused = [value for value in one.values if value is not None and value not in used]
            if not unused:
                continue
            values = ", ".join(map(str, unused[:8])) + (" and others" if len(unused) > 8 else "")
            sentences = (f"add 1 {own.noun} with {one.name} {_quoted(value)}" for value in unused)
            spread = f"spread {one.name} of the {own.many} over all values"
            fix = "; ".join(sentences) if len(unused) <= 3 else spread
            count = f"{len(unused)} of {len(one.values)}"
            says = f"No {own.noun} has {one.name} {values}: {count} values are unused."
            yield Advisory(name="unused_enum_value", message=says, places=(pointer([own.name]),), fix=fix)


def single_owner(ground: Ground, now: str) -> Iterator[Advisory]:
    for own, records in _records(ground):
        for one in own.references:
            others = types_in(ground.state).get(one.refers_to or "", {})
            owners = Counter(str(record.get(one.name)) for record in records.values() if record.get(one.name))
            if len(records) < FEWEST or len(others) < 2 or len(owners) != 1:
                continue
            owner, count = next(iter(owners.items()))
            target = ground.outline.types[one.refers_to or ""]
            says = f"All {count} {own.many} have the same {one.name}, {owner}."
            fix = f"spread {one.name} of the {own.many} over all {target.many}"
            yield Advisory(name="single_owner", message=says, places=_places(own, records, one.name), fix=fix)


def narrow_dates(ground: Ground, now: str) -> Iterator[Advisory]:
    for own, records in _records(ground):
        moments = [one for one in own.fields if one.is_moment and one.refers_to is None]
        dates = (_moment(record.get(one.name)) for one in moments for record in records.values())
        found = [at for at in dates if at is not None]
        if len(records) < FEWEST or len(found) < FEWEST or max(found) - min(found) > NARROW:
            continue
        first = next((one for one in moments if rank_of(one.name) == 1), moments[0])
        days = (max(found) - min(found)).days
        says = f"All dates of {own.many} lie within {days} days."
        fix = f"spread {first.name} of the {own.many} over the last 12 months"
        yield Advisory(name="narrow_dates", message=says, places=_places(own, records, first.name), fix=fix)


def dangling_reference(ground: Ground, now: str) -> Iterator[Advisory]:
    state = types_in(ground.state)
    for own, records in _records(ground):
        for one in own.fields:
            for part in (None, *one.parts):
                to = part.refers_to if part is not None else one.refers_to
                known = state.get(to or "")
                if known is None:
                    continue
                held = [(id, each) for id, of in records.items() for each in _held(of.get(one.name), part)]
                lost = [(id, value) for id, value in held if str(value) not in known]
                if not lost or not _is_reference(part or one, len(lost), len(held)):
                    continue
                yield _dangling(own, one, part, lost, known, ground.outline.types[to or ""])


def _held(value: Json, part: FieldOutline | None) -> Iterator[Json]:
    values = value if isinstance(value, list) else [value]
    for each in values:
        if part is not None:
            each = each.get(part.name) if isinstance(each, dict) else None
        if each is not None and each != "" and not isinstance(each, list | dict):
            yield each


def _is_reference(one: FieldOutline, lost: int, held: int) -> bool:
    """A name that only sounds like a reference holds none of the ids."""
    return lost * 2 <= held or (one.words[-1] in ID_WORDS and lost < held) or held < FEWEST


def _dangling(
    own: TypeOutline,
    one: FieldOutline,
    part: FieldOutline | None,
    lost: Sequence[tuple[str, Json]],
    known: dict[str, JsonObject],
    target: TypeOutline,
) -> Advisory:
    name = f"{one.name}.{part.name}" if part is not None else one.name
    ids = list(dict.fromkeys(id for id, _ in lost))
    fix = None
    if part is None and one.kind != "list" and known:
        others = list(known)
        pairs = zip(ids[:MENDED], (others[at % len(others)] for at in range(MENDED)), strict=False)
        fix = "; ".join(f"set {one.name} of {own.noun} {id} to {other}" for id, other in pairs)
    says = f"{len(lost)} {name} of {own.many} refer to no {target.noun}, such as {lost[0][1]}."
    return Advisory(name="dangling_reference", message=says, places=_places(own, ids, one.name), fix=fix)


def doubled_key(ground: Ground, now: str) -> Iterator[Advisory]:
    for own, records in _records(ground):
        for one in own.fields:
            if one.kind != "text" or one.words[-1] not in _KEYS or one.refers_to is not None:
                continue
            by_value: dict[str, list[str]] = {}
            for id, record in records.items():
                value = record.get(one.name)
                if isinstance(value, str) and value:
                    by_value.setdefault(value.lower(), []).append(id)
            doubled = {value: ids for value, ids in by_value.items() if len(ids) > 1}
            if not doubled or len(doubled) * 2 > len(by_value):
                continue  # so common that it is no key here
            spare = [(id, value) for value, ids in doubled.items() for id in ids[1:]]
            fix = "; ".join(
                f"set {one.name} of {own.noun} {id} to {_quoted(_another(value, at))}"
                for at, (id, value) in enumerate(spare[:MENDED])
            )
            says = (
                f"{len(doubled)} values of {one.name} belong to more than one {own.noun}, "
                f"such as {spare[0][1]}."
            )
            yield Advisory(
                name="doubled_key",
                message=says,
                places=_places(own, [id for ids in doubled.values() for id in ids], one.name),
                fix=fix,
            )


def _another(value: str, number: int) -> str:
    name, at, rest = value.partition("@")
    return f"{name}.{number + 2}{at}{rest}" if at else f"{value}-{number + 2}"


def total_mismatch(ground: Ground, now: str) -> Iterator[Advisory]:
    for own, records in _records(ground):
        for rule in sums_of(own, ground.outline.types):
            wrong: list[tuple[str, float]] = []
            for id, record in records.items():
                lines = lines_of(rule, id, record, ground.state)
                value, total = record.get(rule.total), rule.of(record, lines)
                if (
                    lines
                    and total is not None
                    and isinstance(value, int | float)
                    and abs(value - total) > 0.006
                ):
                    wrong.append((id, total))
            if not wrong:
                continue
            fix = "; ".join(
                f"set {rule.total} of {own.noun} {id} to {total:g}" for id, total in wrong[:MENDED]
            )
            says = (
                f"{rule.total} of {len(wrong)} {own.many} is not the sum of {rule.lines}: "
                f"{wrong[0][0]} should be {wrong[0][1]:g}."
            )
            yield Advisory(
                name="total_mismatch",
                message=says,
                places=_places(own, [id for id, _ in wrong], rule.total),
                fix=fix,
            )


# -- states and times


def state_contradicts_times(ground: Ground, now: str) -> Iterator[Advisory]:
    day = datetime.fromisoformat(now).replace(tzinfo=None)
    for own, records in _records(ground):
        moments = [one for one in own.fields if one.is_moment and rank_of(one.name) is not None]
        found = [
            (id, *why) for id, record in records.items() if (why := _contradiction(own, moments, record, day))
        ]
        if not found:
            continue
        fix = "; ".join(
            f"set {one.name} of {own.noun} {id} to {value if value is not None else 'nothing'}"
            for id, one, value, _ in found[:MENDED]
        )
        says = (
            f"Times of {len(found)} {own.many} contradict their state or each other: "
            f"{found[0][0]} {found[0][3]}."
        )
        yield Advisory(
            name="state_contradicts_times",
            message=says,
            places=tuple(pointer([own.name, id, one.name]) for id, one, _, _ in found[:SHOWN]),
            fix=fix,
        )


def _contradiction(
    own: TypeOutline, moments: Sequence[FieldOutline], record: JsonObject, day: datetime
) -> tuple[FieldOutline, Json, str] | None:
    """The field, what it should be, and why."""
    status = own.status
    state = record.get(status.name) if status is not None else None
    states = status.values if status is not None and status.values else [state]
    dated = [(one, at) for one in moments if (at := _moment(record.get(one.name))) is not None]
    for one in moments:
        if (
            record.get(one.name) is None
            and one.name in record
            and state is not None
            and said_state(one.name, [state]) == state
        ):
            last = max((at for _, at in dated), default=day - timedelta(days=1))
            return (
                one,
                write_moment(one, min(last + timedelta(hours=2), day)),
                f"is {state} and has no {one.name}",
            )
    for one, at in dated:
        rank = rank_of(one.name) or 0
        if at > day + timedelta(days=1):
            return one, write_moment(one, day), f"has a {one.name} that is still to come"
        is_initial = "_".join(tokens(str(state))) in INITIAL
        if is_initial and rank >= 3 and has_happened(one.name, state, list(states)) is False:
            return one, None, f"is {state} and has a {one.name}"
    dated.sort(key=lambda pair: rank_of(pair[0].name) or 0)
    for (first, before), (then, after) in pairwise(dated):
        if (rank_of(first.name) or 0) < (rank_of(then.name) or 0) and after.date() < before.date():
            return (
                then,
                write_moment(then, min(before + timedelta(days=1), day)),
                f"has {then.name} before {first.name}",
            )
    return None


def _moment(value: Json) -> datetime | None:
    found = moment_of(value) if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\d", value) else None
    return found.at.replace(tzinfo=None) if found is not None else None


# -- texts

_GIVES_AWAY = re.compile(
    r"\b(?:(?:the )?(?:agent|assistant|model|bot) (?:should|must|shall|has to|will)"
    r"|(?:correct|expected|right) (?:answer|outcome|action|behaviou?r|result)|ground truth|oracle|answer key"
    r"|(?:should|must|has to) (?:not )?be (?:refused|denied|rejected|refunded|cancelled|approved)"
    r"|test case|this is a test|do not (?:refund|cancel|approve))\b",
    re.IGNORECASE,
)


def answer_in_text(ground: Ground, now: str) -> Iterator[Advisory]:
    names = {tool.name for tool in ground.toolset.tools if len(tokens(tool.name)) > 1}
    for own, records in _records(ground):
        for one in own.fields:
            if one.kind != "text" or one.values:
                continue
            found = [
                id
                for id, record in records.items()
                if isinstance(text := record.get(one.name), str) and _tells(text, names)
            ]
            if found:
                fix = "; ".join(f"set {one.name} of {own.noun} {id} to nothing" for id in found[:MENDED])
                says = f"{one.name} of {len(found)} {own.many} says what an agent should do."
                yield Advisory(
                    name="answer_in_text", message=says, places=_places(own, found, one.name), fix=fix
                )


def _tells(text: str, tools: set[str]) -> bool:
    if len(text) < 8:
        return False
    return _GIVES_AWAY.search(text[:2_000]) is not None or bool(tools & set(re.findall(r"\w+", text[:2_000])))


def _quoted(value: Json) -> str:
    return f'"{value}"' if isinstance(value, str) and not re.fullmatch(r"[A-Za-z_]+", value) else str(value)
