"""What holds in every seeded record, and so is taken to hold after a change: which number is room and which
what is taken of it, which state goes with a blank, which state with a number, which number counts what."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from pipelines.core.english.words import tokens
from pipelines.core.json_text import Json, JsonObject
from pipelines.core.simulation.domain.fields import Field
from pipelines.core.simulation.domain.references import ID_WORDS
from pipelines.core.simulation.domain.roles import status_path

LOOKED_AT = 50  # records: what holds in so many is no chance
_MOST_STATES = 5  # of which sets are tried: those that count


@dataclass(frozen=True, kw_only=True, slots=True)
class Referring:
    """Records of another type that refer to one, but for those that are over."""

    entity_type: str
    path: tuple[str, ...]
    status: str | None
    over: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """A number, and another (or a list) that in no record is more (or longer): seats, and who has one."""

    most: str
    used: str  # a field; of records that refer, their type
    counts: bool  # `used` is a list, or records that refer
    referring: Referring | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Coupling:
    """A field that may be null, and the state that its records are in with and without it."""

    link: str
    status: str
    when_null: str
    when_set: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """A state that records are in once one number has reached another, and in no other case."""

    most: str
    used: str
    status: str
    when_all: str
    when_some: str | None  # None: not seen, or not always the same


@dataclass(frozen=True, kw_only=True, slots=True)
class Counter:
    """A number of one type that is how many records of another refer to it, or how long its own list is."""

    entity_type: str
    field: str
    path: tuple[str, ...]  # of the reference, or of the list
    status: str | None = None
    states: tuple[str, ...] = ()  # in which they count; none: in any
    is_rest: bool = False  # it is what is left of another number: copies_available, of copies_total


def limits_in(records: Sequence[JsonObject], fields: Mapping[str, Field]) -> Iterator[Limit]:
    """Pairs that hold in every record that was seen; many do so by chance, and words have to choose."""
    numbers = [
        name for name, one in fields.items() if one.kinds == {"number"} and tokens(name)[-1] not in ID_WORDS
    ]
    lists = [name for name, one in fields.items() if one.keeps == "list" and not one.of_pairs]
    amounts = {name: [_amount(record.get(name)) for record in records] for name in (*numbers, *lists)}
    for most in numbers if len(records) > 1 else ():
        for used in (*lists, *numbers):
            pairs = zip(amounts[most], amounts[used], strict=True)
            if most != used and any(amounts[used]) and all(whole >= part for whole, part in pairs):
                yield Limit(most=most, used=used, counts=used in lists)


def holds(limits: Mapping[str, Json], ids: Sequence[str]) -> bool:
    """Whether each number is at least how often its id occurs. One has to be half reached: a number that is
    far above all that refers may be of something else, like litres."""
    counts = [(most, ids.count(id)) for id, most in limits.items()]
    is_kept = all(isinstance(most, int) and most >= count for most, count in counts)
    return is_kept and len(counts) > 1 and any(count and count * 2 >= _amount(most) for most, count in counts)


def _amount(value: Json) -> float:
    """A number, or how many are in a list."""
    if isinstance(value, list):
        return len(value)
    return value if isinstance(value, (int, float)) else 0


def couplings_in(records: Sequence[JsonObject], fields: Mapping[str, Field]) -> Iterator[Coupling]:
    """A volume is `attached` exactly where it has an instance, in every record that was seen."""
    status = status_path(fields)
    if status is None or len(status) != 1:
        return
    for name, one in fields.items():
        if "null" not in one.kinds or not one.kinds & {"text", "number"} or name == status[0]:
            continue
        without = {str(record.get(status[0])) for record in records if record.get(name) is None}
        having = {str(record.get(status[0])) for record in records if record.get(name) is not None}
        if len(without) == len(having) == 1 and without != having:
            yield Coupling(link=name, status=status[0], when_null=without.pop(), when_set=having.pop())


def progress_in(
    records: Sequence[JsonObject], fields: Mapping[str, Field], limits: Sequence[Limit]
) -> Iterator[Progress]:
    """An invoice is `paid` exactly where what was paid is all that is due."""
    status = status_path(fields)
    if status is None or len(status) != 1:
        return
    for limit in limits:
        reached: dict[str, set[str]] = {"all": set(), "some": set(), "none": set()}
        for record in records if not limit.counts else ():
            used, most = _amount(record.get(limit.used)), _amount(record.get(limit.most))
            how = "all" if used == most else "some" if used else "none"
            reached[how].add(str(record.get(status[0])))
        if (
            len(reached["all"]) == 1
            and not reached["all"] & (less := reached["some"] | reached["none"])
            and less
        ):
            some = reached["some"]
            yield Progress(
                most=limit.most, used=limit.used, status=status[0],
                when_all=reached["all"].pop(), when_some=some.pop() if len(some) == 1 else None,
            )  # fmt: skip


def counted_states(counts: Mapping[str, int], referring: Sequence[tuple[str, str]]) -> tuple[str, ...] | None:
    """The states of records that are counted, () for any; None where no set of them gives the numbers.
    `referring` are the state of each referring record and the id that it refers to."""
    if len(counts) < 3 or len({*counts.values()}) < 2 or sum(count > 0 for count in counts.values()) < 2:
        return None  # so few agree by chance
    states = [*dict.fromkeys(state for state, _ in referring)]
    tried = [states]
    if 1 < len(states) <= _MOST_STATES:
        tried += [[*some] for size in range(1, len(states)) for some in combinations(states, size)]
    fit = [some for some in tried if _agree(counts, [id for state, id in referring if state in some])]
    if not fit or (len(fit) > 1 and fit[0] != states):
        return None
    return () if fit[0] == states else tuple(fit[0])


def _agree(counts: Mapping[str, int], ids: Sequence[str]) -> bool:
    return len(ids) == sum(counts.values()) and all(ids.count(id) == count for id, count in counts.items())
