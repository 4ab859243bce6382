"""Which family of verbs answers a tool, and the plan it gives."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pipelines.core.english.inflection import all_forms
from pipelines.core.english.words import singular, singulars, tokens, word_set
from pipelines.core.json_text import JsonObject
from pipelines.core.ledger import World
from pipelines.core.ledger_schema import LedgerSchema
from pipelines.core.simulation.domain.arguments import ToolLike
from pipelines.core.simulation.domain.clauses import claim_of, says_nothing_changes
from pipelines.core.simulation.domain.naming import with_names
from pipelines.core.simulation.domain.shapes import Survey, find_field, survey
from pipelines.core.simulation.expr.make import arg, constant, is_equal, plan_text
from pipelines.core.simulation.reading.amounts import read_amount, read_told_amount, read_transfer
from pipelines.core.simulation.reading.check import read_check
from pipelines.core.simulation.reading.computing import read_computing
from pipelines.core.simulation.reading.create import read_create, read_made, read_recorded
from pipelines.core.simulation.reading.delete import read_delete
from pipelines.core.simulation.reading.doubtful import is_doubtful
from pipelines.core.simulation.reading.filters import field_for
from pipelines.core.simulation.reading.invented import invented_in
from pipelines.core.simulation.reading.left_out import GUESSED, left_out
from pipelines.core.simulation.reading.listing import read_listing
from pipelines.core.simulation.reading.lookup import read_lookup, read_outside, refuse, taken_for_id
from pipelines.core.simulation.reading.membership import read_listed, read_membership
from pipelines.core.simulation.reading.notify import read_handoff, read_told
from pipelines.core.simulation.reading.nouns import with_spoken_nouns
from pipelines.core.simulation.reading.records import noun_of
from pipelines.core.simulation.reading.session import read_session
from pipelines.core.simulation.reading.states import change_of
from pipelines.core.simulation.reading.steps import (
    Drafted,
    Step,
    dot,
    find_one,
    name_for,
    refusal,
    require,
)
from pipelines.core.simulation.reading.tool_reading import Reading, read_tool
from pipelines.core.simulation.reading.totals import read_total
from pipelines.core.simulation.reading.transition import (
    read_decided,
    read_evident,
    read_stated,
    read_transition,
)
from pipelines.core.simulation.reading.unclear import read_unclear
from pipelines.core.simulation.reading.update import (
    read_changed_fields,
    read_linked,
    read_spoken_field,
    read_update,
)

_PAIRED = 0.75  # what an id is of was found by leaving out all else
Family = Callable[[Reading], Drafted | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadPlan:
    """A plan in the language of plans, as read; `confidence` runs from 0 (a guess) to 1."""

    body: list[JsonObject]
    notes: tuple[str, ...] = ()  # what it takes for granted
    remarks: tuple[str, ...] = ()  # where it keeps what the caller gives
    confidence: float = 0.0


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
    enforced: Sequence[str] = (),
    has_rules: bool = False,
) -> ReadPlan:
    """What the tool most likely does. `known` saves surveying the world again for every tool; `enforced` are
    sentences of its description that are woven into the plan afterwards; `has_rules`: a behaviour text says
    what is refused."""
    around = known or survey_for(tools, world=world, ledger_schema=ledger_schema)
    reading = read_tool(tool, around)
    drafted = next((found for family in families(reading) if (found := family(reading)) is not None), None)
    if drafted is not None and is_doubtful(reading, drafted.steps):
        drafted = read_unclear(reading)
    drafted = drafted or refuse(reading)
    body = [*_credentials(reading), *drafted.steps]
    paired = tuple(_paired(reading))
    notes = (*drafted.notes, *_taken(reading, drafted), *paired)
    made_up = [f"`{name}` is not in the world: its value is invented" for name in invented_in(body)]
    open_ends = left_out(reading, body)
    most = GUESSED if open_ends.is_guess else _PAIRED if paired else 1.0
    confidence = min(drafted.confidence, reading.name.sureness, most)
    notes = (*notes, *made_up, *open_ends.notes)
    return ReadPlan(body=_written(body), notes=notes, remarks=drafted.remarks, confidence=confidence)


def _written(draft: Sequence[Step]) -> list[JsonObject]:
    body = plan_text(draft)
    assert isinstance(body, list)
    return [step for step in body if isinstance(step, dict)]


def _taken(reading: Reading, drafted: Drafted) -> Iterator[str]:
    """That an argument picks the record though it is not called an id, where the plan looks for one by it."""
    about = reading.subject
    if about is None or not about.is_taken:
        return
    finds = (step.get("find") for step in drafted.steps)
    given = arg(about.id_argument.name)
    if any(isinstance(one, dict) and one.get("id") == given for one in finds):
        yield taken_for_id(about.id_argument, noun_of(about.collection))


def _paired(reading: Reading) -> Iterator[str]:
    """That an id is taken for one of a type, where only what else the tools ask for speaks for that."""
    meant = {one.noun: one.entity_type for one in reading.known.meanings if one.weight <= 0}
    for one in reading.arguments:
        kind = meant.get(singulars(one.id_noun or ()))
        if kind is not None:
            yield f"`{one.name}` is taken for an id of `{kind}`: no record calls it so, but nothing else fits"


def families(reading: Reading) -> Sequence[Family]:
    """The families to ask, in order, for this verb."""
    if reading.name.reads():
        first: tuple[Family, ...] = (_thought, read_session, read_computing, read_total, read_check)
        last: tuple[Family, ...] = (read_lookup, read_listing)
        return (*first, *(reversed(last) if reading.wants_many() else last), read_outside)
    if reading.name.op is None:
        return (read_handoff, read_computing, read_agreed, read_evident, read_unclear)
    if reading.name.op in ("transition", "update") and _speaks_of_a_new_one(reading):
        return (*_WRITES["create"], read_unclear)
    known: tuple[Family, ...] = (_known_effect,) if reading.name.op in _MEANS_MUCH else ()
    first = (read_handoff, read_transfer, read_computing)
    own = _WRITES[reading.name.op]
    # pay_bill(bill_id, amount): what is given may not be all.
    plain = (*own, *known) if _has_amount(reading) else (*known, *own)
    return (*first, *plain, read_unclear)


def _speaks_of_a_new_one(reading: Reading) -> bool:
    """ "Take on a new client": of a thing that no id picks, with what such things have."""
    words = tokens(reading.said.summary.lower())
    table = reading.collection
    if table is None or table.form != "table" or any(one.id_noun for one in reading.arguments):
        return False
    names = {noun[-1] for noun in (table.words, *table.called)}
    needed = [one for one in reading.arguments if one.is_required]
    is_new = any(one == "new" and singular(other) in names for one, other in pairwise(words))
    return is_new and bool(needed) and all(field_for(one, table) is not None for one in needed)


def _has_amount(reading: Reading) -> bool:
    return any(one.kind == "number" and one.id_noun is None for one in reading.arguments)


#: Verbs that do many things (drop, withdraw): what the records show goes first.
_MEANS_MUCH = ("delete", "withdraw")


def read_agreed(reading: Reading) -> Drafted | None:
    """A verb that nobody listed: where name and description both say it, what the records keep says what it
    does (`join_team`, "A player joins a team")."""
    said = claim_of(reading.tool.description, reading.name.verb, tokens(reading.tool.name))
    if said.kind not in ("writes", "turns_out", "acts") or says_nothing_changes(reading.tool.description):
        return None
    forms = all_forms(reading.name.verb)
    if not forms & {*tokens((reading.tool.description or "").lower())}:
        return None
    families_of_any = (read_listed, read_amount)
    found = next((f for family in families_of_any if (f := family(reading)) is not None), None)
    return replace(found, confidence=0.6) if found is not None else None


def _known_effect(reading: Reading) -> Drafted | None:
    """A verb that has other meanings, but whose effect the records show."""
    about = reading.subject
    change = change_of(reading, about.collection) if about and about.collection.form == "table" else None
    return read_transition(reading) if change is not None and change.is_known else None


_STARTS = word_set("start begin open launch deploy publish issue initiate submit schedule post activate")


def _started(reading: Reading) -> Drafted | None:
    """`start_server(server_id)`: of a thing that is there already, a change of state; else it is made."""
    is_there = reading.name.verb in _STARTS and reading.picks_own()
    return read_transition(reading) if is_there else None


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
        *(read_membership, _started, read_told_amount, read_made),
        *(read_spoken_field, read_amount, _known_effect, read_evident, read_linked),
        *(read_create, _undeclared),
    ),
    "notify": (read_made, _sent_to, read_told, read_create, _undeclared),
    "update": (
        read_listed,
        read_amount,
        read_recorded,
        read_stated,
        read_decided,
        read_changed_fields,
        read_evident,
        read_update,
    ),
    "delete": (read_membership, read_delete, _undeclared),
    "transition": (
        *(
            read_membership,
            read_recorded,
            read_decided,
            read_amount,
            read_transition,
            read_evident,
        ),
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


def _credentials(reading: Reading) -> list[Step]:
    """A token or key that the service keeps must be the one given."""
    service = reading.service
    if service is None:
        return []
    holder = name_for(service.entity_type)
    kept = [(one, name) for one in reading.credentials if (name := find_field(service.fields, one.name))]
    wrong = refusal("wrong_credentials", "The credentials are not valid", 401)
    checks = [require(is_equal(dot(holder, name), arg(one.name)), wrong) for one, name in kept]
    return [find_one(holder, service.entity_type, constant(service.id)), *checks] if checks else []
