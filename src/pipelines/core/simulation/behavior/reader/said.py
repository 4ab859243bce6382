"""What has been gathered of one rule: which calls it speaks of, what is so of them, and what they need."""

from dataclasses import dataclass, replace

from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.thing import Thing
from pipelines.core.simulation.behavior.reader.vocabulary import Deed, number_of
from pipelines.core.simulation.behavior.things import ToolWords, counts

ROLES = word_set("role roles type position user_role account_type")


@dataclass(frozen=True, kw_only=True)
class Said:
    verbs: tuple[tuple[Deed, ...], ...] = ()  # each with the tools that may be meant
    things: tuple[Thing, ...] = ()
    agents: tuple[str, ...] = ()  # kinds of those who do it, where something is asked of them
    so: tuple[m.Condition, ...] = ()  # of the calls spoken of
    needed: tuple[m.Condition, ...] = ()  # what must be so of them
    exceptions: tuple[m.Condition, ...] = ()
    is_forbidden: bool = False
    times: int | None = None  # how often it may be done to one thing
    outcome: m.Outcome | None = None
    is_none: bool = False  # nothing, nobody
    is_complete: bool = False  # no verb follows
    is_named: bool = False  # the tools are named
    is_certain: bool = False  # of every call: `always fails`

    def with_thing(self, thing: Thing, is_needed: bool = False) -> "Said":
        so = m.both(*thing.so)
        # What is asked of a person is a matter of permission.
        is_asked = thing.is_person and not isinstance(so, (m.Owns, m.Related))
        moved = (m.Allowed(so) if is_asked else so,) if so is not None else ()
        if thing.is_only or is_needed:
            return replace(self, things=(*self.things, thing), needed=(*self.needed, *moved))
        return replace(self, things=(*self.things, thing), so=(*self.so, *moved))

    def with_condition(self, so: m.Condition, thing: Thing | None = None, is_only: bool = False) -> "Said":
        """Of what is forbidden it says when; of what is allowed, what is needed for it."""
        things = (*self.things, thing) if thing is not None else self.things
        if self.is_forbidden and not is_only:
            return replace(self, so=(*self.so, so), things=things)
        return replace(self, needed=(*self.needed, so), things=things)

    @property
    def kinds(self) -> list[str]:
        named = (kind for thing in self.things for kind in (thing.kind, *thing.others))
        return list(dict.fromkeys(kind for kind in named if kind))

    @property
    def need(self) -> m.Condition | None:
        """What must hold for the call to be carried out."""
        if self.is_forbidden:
            so = m.both(*self.so, *self.needed)
            need = (m.Not(m.Always()) if self.is_certain else None) if so is None else turned(so)
            if need is None and self.exceptions:  # cannot be done unless …
                return self.exceptions[0] if len(self.exceptions) == 1 else m.Any_(self.exceptions)
        else:
            wanted, so = m.both(*self.needed), m.both(*self.so)
            need = wanted if wanted is None or so is None else m.Any_((m.negated(so), wanted))
        if need is None or not self.exceptions:
            return need
        return m.Any_((*self.exceptions, need))


def named(tools: tuple[ToolWords, ...]) -> Said:
    return Said(verbs=tuple((Deed(tool=tool.name, rank=0),) for tool in tools), is_named=True)


def is_role(thing: Thing) -> bool:
    """Whether it says what somebody is, rather than how whatever the call is about stands."""
    parts = [part for one in thing.so for part in (one.parts if isinstance(one, m.Any_) else (one,))]
    return thing.is_person and any(isinstance(one, m.OneOf) and one.field.name in ROLES for one in parts)


def turned(so: m.Condition) -> m.Condition:
    """The contrary; of a switch that is off, the switch that is on."""
    match so:
        case m.Compare(left, "==", m.Literal_(False)):
            return m.Compare(left, "==", m.Literal_(True))
        case m.Allowed(part):
            return m.Allowed(turned(part))
    return m.negated(so)


def is_debt(so: tuple[m.Condition, ...]) -> bool:
    """Whether it is what somebody owes that stands in the way, so that paying takes it away."""
    plain = [one.part if isinstance(one, m.Allowed) else one for one in so]
    return any(isinstance(one, (m.Compare, m.HasSome)) for one in plain)


def clause_of(told: Said, tool: ToolWords, given: m.Condition | None) -> c.Clause | None:
    """The rule that was gathered, about this tool; `given` where the verb is meant only with an argument."""
    said = _numbered(_by_caller(_of_persons(told), tool), tool)
    if said is None:
        return None
    kind = next((thing.kind for thing in said.things if thing.kind), None)
    who = m.Who(names=(tool.name,), noun=kind if said.times is not None else None)
    if said.times is not None:
        if said.so or said.needed or said.exceptions or given is not None:
            return None
        return (
            c.Once(said.outcome, _per(said), who)
            if said.times == 1
            else c.Rarely(said.times, said.outcome, who=who)
        )
    need = said.need
    if need is None:
        return None
    return c.Guard(need if given is None else m.Any_((m.negated(given), need)), said.outcome, who)


def _per(said: Said) -> tuple[str, ...]:
    """`A juror may review a submission once`: once for both, where two things are named."""
    return tuple(said.kinds) if len(said.kinds) > 1 else ()


def _numbered(said: Said, tool: ToolWords) -> Said | None:
    """`At most 20 lessons can be bought`: how many is what the one number says that the tool is given."""
    counted = [thing for thing in said.things if thing.bounds]
    if not counted:
        return said
    numbers = counts(tool, counted[0].kind)
    bounds = counted[0].bounds
    if len(counted) > 1 or len(numbers) != 1 or any(op == "==" for op, _ in bounds):
        return None
    amounts = (
        m.Compare(m.Field(numbers[0], None, True), op, m.Literal_(number_of(one.number)))
        for op, one in bounds
    )
    so = m.both(*amounts)
    assert so is not None
    things = tuple(replace(thing, bounds=()) for thing in said.things)
    return replace(said, things=things).with_condition(so)


def _by_caller(said: Said, tool: ToolWords) -> Said:
    """`Only admins can delete users`: whoever calls is not whom it is done to, so it is the caller's role."""
    if tool.kind is None or tool.kind not in said.agents or tool.creates:
        return said
    return replace(
        said,
        so=tuple(_of_caller(one) for one in said.so),
        needed=tuple(_of_caller(one) for one in said.needed),
    )


def _of_persons(said: Said) -> Said:
    """`Students may only review their own lessons`: whose it is by the kind of person that was named."""
    persons = list(dict.fromkeys(thing.kind for thing in said.things if thing.is_person and thing.kind))
    if len(persons) != 1:
        return said
    so, needed = (tuple(_of_person(one, persons[0]) for one in part) for part in (said.so, said.needed))
    return replace(said, so=so, needed=needed)


def _of_person(so: m.Condition, person: str) -> m.Condition:
    match so:
        case m.Not(part):
            return m.Not(_of_person(part, person))
        case m.All(parts):
            return m.All(tuple(_of_person(part, person) for part in parts))
        case m.Owns(str(noun), None, None) if noun != person:
            return m.Related(noun, person)
    return so


def _of_caller(so: m.Condition) -> m.Condition:
    match so:
        case m.Allowed(part):
            return _of_caller(part)
        case m.Not(part):
            return m.Not(_of_caller(part))
        case m.OneOf(field, (str(word),)) if field.name in ROLES:
            return m.CallerIs(word)
    return so
