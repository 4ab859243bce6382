"""What a plan rests on: what was matched, what contradicts it, which other families fit. Its confidence is
made of this record, and whoever is shown the plan is shown it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipelines.core.english.stems import stem
from pipelines.core.english.words import is_plural, singulars, tokens
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.clauses import claim_of
from pipelines.core.simulation.expr.make import Draft, arg, expressions_in
from pipelines.core.simulation.expr.nodes import Call, Constant, path_of
from pipelines.core.simulation.reading.records import is_only_spoken_of, noun_of, taken_for_id
from pipelines.core.simulation.reading.replies import properties_of
from pipelines.core.simulation.reading.steps import Drafted, Step
from pipelines.core.simulation.reading.tool_reading import Reading

GUESSED = 0.4  # what is left open makes the plan a guess
_PAIRED = 0.75  # what an id is of was found by leaving out all else
_DISPUTED = 0.45  # another family reads another effect
_EFFECTS = {
    "add": "adds a record",
    "remove": "removes a record",
    "set": "changes a record",
    "append": "adds to a list",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Grounds:
    matched: tuple[str, ...]  # by name, description, schema, ids, references
    contradicts: tuple[str, ...]  # what speaks against it: read that way, it would be another plan
    open_ends: tuple[str, ...]  # what it leaves out or makes up
    fits_too: tuple[str, ...]  # other families, and what they would do
    confidence: float

    @property
    def lines(self) -> tuple[str, ...]:
        return (
            *(f"by {one}" for one in self.matched),
            *(f"against it: {one}" for one in self.contradicts),
            *(f"it may be meant otherwise: {one}" for one in self.fits_too),
        )


def grounds_of(
    reading: Reading,
    drafted: Drafted,
    body: Sequence[Step],
    family: str,
    others: Sequence[tuple[str, Drafted]],
) -> Grounds:
    """`others`: further families that gave a plan, by name."""
    own = effects_of(drafted.steps)
    fits_too = tuple(
        f"{name} {', '.join(_EFFECTS[one] for one in sorted(effects_of(other.steps)))}"
        for name, other in others
        if effects_of(other.steps) and not effects_of(other.steps) & own
    )
    paired = tuple(_paired(reading))
    unanswered, unheeded = _unanswered(reading, body), _unheeded(reading, body)
    argument_names = {one.name for one in reading.arguments}
    has_answer = not unanswered or bool({*properties_of(reading.output)} - {*unanswered} - argument_names)
    invented = tuple(dict.fromkeys(_invented(body)))
    is_guess = reading.name.reads() and (not has_answer or bool(unheeded))
    made_up = {*properties_of(reading.output)} - argument_names
    is_guess = is_guess or (reading.name.reads() and bool(made_up) and made_up <= {*invented})
    most = min(_DISPUTED if fits_too else 1.0, GUESSED if is_guess else 1.0, _PAIRED if paired else 1.0)
    open_ends = (
        *(f"`{name}` is not in the world: its value is invented" for name in invented),
        *(
            f"`{name}` of its output schema is left out: nothing was found to answer it"
            for name in unanswered
        ),
        *(f"`{name}` makes no difference to what it does" for name in unheeded),
    )
    return Grounds(
        matched=tuple(_matched(reading, family)),
        contradicts=tuple(_contradictions(reading)),
        open_ends=(*_taken(reading, drafted), *paired, *open_ends),
        fits_too=fits_too,
        confidence=min(drafted.confidence, reading.name.sureness, most),
    )


def effects_of(steps: Draft) -> frozenset[str]:
    """What kinds of change its steps make."""
    if isinstance(steps, dict):
        own = frozenset(one for one in ("add", "remove", "set", "append") if one in steps)
        inner = (steps[key] for key in ("then", "else", "do") if key in steps)
        return own.union(*map(effects_of, inner))
    return frozenset().union(*map(effects_of, steps)) if isinstance(steps, (list, tuple)) else frozenset()


def _matched(reading: Reading, family: str) -> Iterator[str]:
    name, about = reading.name, reading.subject
    yield f"its name: `{name.verb}` is read by the family {family}"
    claim = claim_of(reading.tool.description, name.verb)
    if claim.kind in ("reads", "writes"):
        yield f"its description: `{claim.verb}` {'changes something' if claim.kind == 'writes' else 'tells'}"
    if about is not None:
        yield f"its ids: `{about.id_argument.name}` picks a record of `{about.collection.entity_type}`"
        reasons = (one for one in reading.known.meanings if one.entity_type == about.collection.entity_type)
        yield from (f"the world: {why}" for one in list(reasons)[:1] for why in one.reasons[:2])
    if reading.output:
        names = ", ".join(f"`{one}`" for one in properties_of(reading.output))
        yield f"its output schema: {names or 'a value'}"


def _contradictions(reading: Reading) -> Iterator[str]:
    claim = claim_of(reading.tool.description, reading.name.verb)
    if claim.kind == "reads" and not reading.name.reads():
        yield f"its description begins with `{claim.verb}`, as one that only tells something does"
    if claim.kind == "writes" and reading.name.reads():
        yield f"its description begins with `{claim.verb}`, as one that changes something does"


def is_doubtful(reading: Reading, steps: Sequence[Step]) -> bool:
    """Too far-fetched to be made: a new record of which the call says nothing, or one where the call names
    several; a record that goes whatever else the call has to give (`tag_remove(accession_id, tag)`); a change
    of something of which nothing is there, or into a place that no record has and no word of the tool speaks
    of (`advance_case(case_id, step)`, where cases have no step)."""
    effects, about = effects_of(steps), reading.subject
    if not reading.arguments and _adds_to_others(reading, steps):
        return True
    if any(_is_several_in_one(reading, step) for step in steps):
        return True
    if "remove" in effects and _unheeded(reading, steps):
        return True
    is_nowhere = about is not None and is_only_spoken_of(about.collection) and not reading.known.is_empty
    if reading.name.reads() or effects != {"set"} or about is None or any("for" in step for step in steps):
        return False
    if not about.id_argument.is_required and any(one.is_required for one in reading.arguments):
        return True  # the call need not say which record changes
    given = {arg(one.name) for one in reading.arguments}
    stems = {*map(stem, tokens(f"{reading.tool.name} {reading.tool.description or ''}"))}
    written = [(path_of(place), value) for step in steps for place, value in (step.get("set") or {}).items()]
    places = [(found.keys if found is not None else ("",), value) for found, value in written]
    return is_nowhere or all(
        value in given
        and (not keys or keys[0] not in about.collection.fields)
        and stems.isdisjoint(stem(word) for key in keys for word in tokens(key))
        for keys, value in places
    )


def _adds_to_others(reading: Reading, steps: Sequence[Step]) -> bool:
    """One more of what is there already, of which nothing is known."""
    added = [step["add"] for step in steps if "add" in step]
    tables = (reading.known.tables.get(str(one.get("in"))) for one in added if isinstance(one, dict))
    return any(table is not None and not table.is_empty and len(table.fields) > 1 for table in tables)


def _is_several_in_one(reading: Reading, step: Step) -> bool:
    """`open_nodes(names)`: one node whose name is a list of names. What is picked by them is not made."""
    added = step.get("add")
    attrs = added.get("attrs") if isinstance(added, dict) else None
    if not isinstance(attrs, dict) or not (reading.name.nouns and is_plural(reading.name.nouns[-1])):
        return False
    combined = [one for one in reading.arguments if any(value == arg(one.name) for value in attrs.values())]
    return bool(combined) and all(one.kind == "list" and _holds_scalars(one) for one in combined)


def _holds_scalars(argument: Argument) -> bool:
    items = argument.schema.get("items")
    return isinstance(items, dict) and items.get("type") in ("string", "integer", "number")


def _taken(reading: Reading, drafted: Drafted) -> Iterator[str]:
    """That an argument picks the record though it is not called an id, where the plan looks for one by it."""
    about = reading.subject
    finds = [step["find"] for step in drafted.steps if isinstance(step.get("find"), dict)]
    if (
        about is not None
        and about.is_taken
        and any(arg(about.id_argument.name) == one.get("id") for one in finds)
    ):
        yield taken_for_id(about.id_argument, noun_of(about.collection))


def _paired(reading: Reading) -> Iterator[str]:
    """That an id is taken for one of a type, where only what else the tools ask for speaks for that."""
    types_by_noun = {one.noun: one.entity_type for one in reading.known.meanings if one.weight <= 0}
    for one in reading.arguments:
        kind = types_by_noun.get(singulars(one.id_noun or ()))
        if kind is not None:
            yield f"`{one.name}` is taken for an id of `{kind}`: no record calls it so, but nothing else fits"


def _unanswered(reading: Reading, body: Sequence[Step]) -> tuple[str, ...]:
    """Where every reply of the plan is written out field by field: what none of them has."""
    replies = [step["return"] for step in body if "return" in step]
    written = [reply for reply in replies if isinstance(reply, dict) and "..." not in reply]
    if not replies or len(written) < len(replies):
        return ()
    names = sorted(properties_of(reading.output))
    return tuple(name for name in names if not any(name in one for one in written))


def _unheeded(reading: Reading, body: Sequence[Step]) -> tuple[str, ...]:
    """Required, and nowhere in the plan."""
    read = {ref.keys for one in expressions_in(body) for ref in one.refs() if ref.root == "args"}
    if () in read:
        return ()  # taken as a whole
    heeded = {keys[0] for keys in read}
    return tuple(one.name for one in reading.arguments if one.is_required and one.name not in heeded)


def _invented(body: Draft) -> Iterator[str]:
    """Of `invented({'type': 'string'}, 'city', args)`, city."""
    for expression in expressions_in(body):
        for one in expression.calls():
            match one:
                case Call(function="invented", arguments=(_, Constant(value=str(name)), *_)):
                    yield name
