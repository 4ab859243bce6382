"""Which family answers a tool, and the plan it gives: those that may, in order, for each kind of verb."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipelines.core.english.words import word_set
from pipelines.core.ledger.ledger import World
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.simulation.domain.arguments import ToolLike
from pipelines.core.simulation.domain.naming import with_names
from pipelines.core.simulation.domain.shapes import Survey, survey
from pipelines.core.simulation.expr.make import constant, plan_text
from pipelines.core.simulation.reading.amounts import read_amount, read_told_amount, read_transfer
from pipelines.core.simulation.reading.check import read_check
from pipelines.core.simulation.reading.computing import read_computing
from pipelines.core.simulation.reading.create import read_create, read_made, read_recorded
from pipelines.core.simulation.reading.delete import read_delete
from pipelines.core.simulation.reading.grounds import Grounds, effects_of, grounds_of, is_doubtful
from pipelines.core.simulation.reading.listing import read_listing
from pipelines.core.simulation.reading.lookup import read_lookup, read_outside, refuse
from pipelines.core.simulation.reading.membership import read_listed, read_membership
from pipelines.core.simulation.reading.notify import read_handoff, read_told
from pipelines.core.simulation.reading.records import is_only_spoken_of
from pipelines.core.simulation.reading.session import read_session
from pipelines.core.simulation.reading.states import change_of
from pipelines.core.simulation.reading.steps import (
    Drafted,
    Step,
    with_plan_names,
)
from pipelines.core.simulation.reading.targets import with_spoken_nouns
from pipelines.core.simulation.reading.tool_reading import Reading, read_tool
from pipelines.core.simulation.reading.totals import read_total
from pipelines.core.simulation.reading.transition import (
    read_decided,
    read_evident,
    read_transition,
)
from pipelines.core.simulation.reading.unclear import read_unclear
from pipelines.core.simulation.reading.update import (
    read_spoken_field,
    read_update,
)
from pipelines.core.text.json_text import JsonObject

Family = Callable[[Reading], Drafted | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadPlan:
    """A plan in the language of plans, as read; `confidence` runs from 0 (a guess) to 1."""

    body: list[JsonObject]
    notes: tuple[str, ...] = ()  # what it takes for granted
    remarks: tuple[str, ...] = ()  # where it keeps what the caller gives
    grounds: Grounds

    @property
    def confidence(self) -> float:
        return self.grounds.confidence


def survey_for(
    tools: Sequence[ToolLike], *, world: World, ledger_schema: LedgerSchema | None = None
) -> Survey:
    """The world, and the nouns that only the tools speak of."""
    return with_spoken_nouns(with_names(survey(world, ledger_schema), world, tools))


def read_plan(
    tool: ToolLike,
    *,
    tools: Sequence[ToolLike],
    world: World,
    ledger_schema: LedgerSchema | None = None,
    known: Survey | None = None,
) -> ReadPlan:
    """What the tool most likely does. `known` saves surveying the world again for every tool."""
    reading = read_tool(tool, known or survey_for(tools, world=world, ledger_schema=ledger_schema))
    tried_families = families(reading)
    found = next(((one, plan) for one in tried_families if (plan := one(reading)) is not None), None)
    family, drafted = found or (refuse, refuse(reading))
    if is_doubtful(reading, drafted.steps):
        family, drafted = read_unclear, read_unclear(reading)
    others = [] if family is read_unclear else _others(reading, tried_families, family, drafted)
    body = drafted.steps
    grounds = grounds_of(reading, drafted, body, _name(family), others)
    disputed = tuple(f"it may be meant otherwise: {one}" for one in grounds.fits_too)
    notes = (*drafted.notes, *grounds.open_ends, *disputed)
    return ReadPlan(body=_written(body), notes=notes, remarks=drafted.remarks, grounds=grounds)


def _name(family: Family) -> str:
    return family.__name__.removeprefix("read_").strip("_").replace("_", " ")


def _others(
    reading: Reading, asked: Sequence[Family], family: Family, drafted: Drafted
) -> list[tuple[str, Drafted]]:
    """Where one more could be made of what the name speaks of, that reading beside one that changes a record;
    beside one that makes a record no other is heard."""
    if "add" in effects_of(drafted.steps) or read_made not in asked or reading.name.verb not in _MAKES:
        return []
    new_record = read_made(reading)
    return [("made", new_record)] if new_record is not None else []


#: Verbs that make a record whatever it is made for.
_MAKES = word_set("request create submit open file register apply book reserve")


def _written(draft: Sequence[Step]) -> list[JsonObject]:
    body = plan_text(with_plan_names(draft))
    assert isinstance(body, list)
    return [step for step in body if isinstance(step, dict)]


def families(reading: Reading) -> Sequence[Family]:
    """The families to ask, in order, for this verb."""
    name = reading.name
    if name.reads():
        last: tuple[Family, ...] = (read_lookup, read_listing)
        last = last if not reading.wants_many() else last[::-1]
        first = (_thought, read_session, read_computing, read_total, read_check, _computed)
        return (*first, *last, read_outside)
    if name.op is None:
        return (read_handoff, read_computing, read_evident, read_unclear)
    known: tuple[Family, ...] = (_known_effect,) if name.op in ("delete", "withdraw") else ()
    # pay_bill(bill_id, amount): what is given may not be all.
    own = (*_WRITES[name.op], *known) if _has_amount(reading) else (*known, *_WRITES[name.op])
    return (read_handoff, read_transfer, read_computing, *own, read_unclear)


def _has_amount(reading: Reading) -> bool:
    return any(one.kind == "number" and one.id_noun is None for one in reading.arguments)


def _known_effect(reading: Reading) -> Drafted | None:
    """A verb that has other meanings, but whose effect the records show."""
    about = reading.subject
    change = change_of(reading, about.collection) if about and about.collection.form == "table" else None
    return read_transition(reading) if change is not None and change.is_known else None


def _withdrawn(reading: Reading) -> Drafted | None:
    """withdraw_application: without an amount it is the record that is withdrawn."""
    return None if _has_amount(reading) else read_transition(reading)


def _sent_to(reading: Reading) -> Drafted | None:
    """send_to_repair(bike_id): the bike goes there; a confirmation that is sent confirms nothing."""
    return read_evident(reading) if reading.name.complement("to", "into") else None


def _undeclared(reading: Reading) -> Drafted | None:
    """Where a schema declares every type, what is none of them cannot be made."""
    return refuse(reading) if reading.known.is_closed else None


_WRITES: dict[str, tuple[Family, ...]] = {
    "create": (
        *(read_membership, read_told_amount, read_made, read_spoken_field, read_amount),
        *(_known_effect, read_evident, read_create, _undeclared),
    ),
    "notify": (read_made, _sent_to, read_told, read_create, _undeclared),
    "update": (
        *(read_listed, read_amount, read_recorded, read_decided),
        *(read_evident, read_update),
    ),
    "delete": (read_membership, read_delete, _undeclared),
    "transition": (
        *(read_membership, read_recorded, read_decided, read_amount, read_transition, read_evident),
    ),
    "transfer": (read_update,),
    "fund": (read_amount,),
    "withdraw": (read_amount, _withdrawn),
    "login": (read_session,),
    "logout": (read_session,),
    "handoff": (),
}


def _thought(reading: Reading) -> Drafted | None:
    """A tool for thinking aloud: nothing happens."""
    is_thought = reading.name.op == "think" and not any(one.id_noun is not None for one in reading.arguments)
    return Drafted(steps=({"return": constant("")},), confidence=0.9) if is_thought else None


def _computed(reading: Reading) -> Drafted | None:
    """`quote_rate(lane, weight)`: a figure that no record keeps is worked out elsewhere: it is invented."""
    about = reading.subject
    is_kept = about is not None and not is_only_spoken_of(about.collection)
    return read_outside(reading) if reading.name.op == "compute" and not is_kept else None
