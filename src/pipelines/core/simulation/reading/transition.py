"""Changes of state: cancel, close, approve, return, enable and their kin."""

from collections.abc import Iterator, Mapping, Sequence

from pipelines.core.english.inflection import action_nouns, participle
from pipelines.core.english.verbs import DONE_TO_OTHERS
from pipelines.core.english.words import joined, singulars, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument, is_list_of_ids, part_noun
from pipelines.core.simulation.domain.clauses import claim_of
from pipelines.core.simulation.domain.roles import states_of
from pipelines.core.simulation.domain.shapes import Field, find_field
from pipelines.core.simulation.expr.make import (
    Draft,
    any_of,
    arg,
    call,
    compare,
    constant,
    differs,
    expressions_in,
    is_in,
    is_null,
)
from pipelines.core.simulation.expr.nodes import Constant, Expr, Not
from pipelines.core.simulation.reading.effects import evident_change
from pipelines.core.simulation.reading.filters import field_for
from pipelines.core.simulation.reading.money import price_difference, refund_steps
from pipelines.core.simulation.reading.records import others_of, ownership, record_of
from pipelines.core.simulation.reading.stated import read_evident, stated
from pipelines.core.simulation.reading.states import (
    knows_effect,
    place_of_state,
    state_conditions,
    status_of,
    switch_field,
    target_state,
    told_state,
)
from pipelines.core.simulation.reading.steps import Bound, Drafted, Step, dot, refusal, require
from pipelines.core.simulation.reading.tool_reading import Reading
from pipelines.core.simulation.reading.writing import (
    change_notes,
    change_remarks,
    change_reply,
    coupled,
    time_like,
)

#: Seen or declared: with so many, one that is not among them is doubtful, unless name and description agree
#: on the verb that leads there.
STATES_THAT_TELL = 3
# Said of the change rather than of the record, so kept under the verb: hold_reason.
_OF_THE_CHANGE = word_set("reason note notes comment comments by date remark explanation")


def read_transition(reading: Reading) -> Drafted | None:
    bound = record_of(reading)
    if bound is None:
        return None
    switch = switch_field(reading, bound.collection)
    others = others_of(reading)
    owned = ownership(bound, others, reading)
    checks = [*bound.steps, *owned, *allowed_values(others)]
    others = [one for one in others if not _is_checked(one, owned)]
    if switch is not None and reading.said.becomes is None:
        return _switched(reading, bound, checks, switch)
    target = target_state(reading, bound.collection)
    evident = evident_change(reading, bound.collection)
    known = states_of(bound.collection.fields, status_of(reading, bound.collection))
    if evident is not None and target not in known and told_state(reading) is None:
        return stated(reading, bound, evident)
    if target not in known and (let_go := read_evident(reading)) is not None:
        return let_go
    changes: dict[Expr, Draft] = {}
    status = status_of(reading, bound.collection) or place_of_state(target, bound.collection) or ("status",)
    known = states_of(bound.collection.fields, status)
    if reading.said.amount is not None and reading.said.becomes is None and target not in known:
        return None  # "renew a loan by 14 days" changes how much, and no state that anybody named
    is_doubtful = (len(known) >= STATES_THAT_TELL and not _says_the_verb(reading)) or _only_names_it(reading)
    if target in known or told_state(reading) is not None or not is_doubtful:
        if target in known or not _changes_fields(reading, bound, others):
            changes[dot(bound.noun, *status)] = constant(target)
    elif not _changes_fields(reading, bound, others):
        return None  # the records have states, and this is none of them: which one is meant would be a guess
    lets: list[Step] = []
    kept, more = kept_arguments(reading, bound, others)
    changes |= kept
    lets += more
    changes = _times(reading, bound) | changes  # a day that is given is the day
    place = dot(bound.noun, *status)
    if not changes:
        return None
    steps: list[Step] = [
        *checks,
        *state_conditions(reading, bound.collection, bound.noun, target if place in changes else None),
        *lets,
        {"set": coupled(bound, changes)},
        *refund_steps(reading, bound),
        {"return": change_reply(reading, bound, changed=status)},
    ]
    notes = change_notes(reading, bound, changes)
    if place in changes and known and target not in known and told_state(reading) is None:
        notes = (f"no record is {target} yet: the state is made of the verb `{reading.name.verb}`", *notes)
    remarks = change_remarks(reading, bound, changes)
    return Drafted(steps=tuple(steps), notes=notes, remarks=remarks, confidence=0.8)


def _is_checked(argument: Argument, owned: Sequence[Step]) -> bool:
    """`cancel_order(order_id, buyer_id)`: whose it is has to fit, so the call does not set it."""
    said = expressions_in([step.get("require") for step in owned])
    given = arg(argument.name)
    return any(inner.arguments[-1:] == (given,) for one in said for inner in one.calls())


def _says_the_verb(reading: Reading) -> bool:
    """Whether the description does not call what happens by another verb: "Release a cage" of `discharge`."""
    said = claim_of(reading.tool.description, reading.name.verb).verb
    return said is None or said == reading.name.verb


def _only_names_it(reading: Reading) -> bool:
    """ "Settlement." of `settle_season`: the name once more, so nothing agrees with it on a state."""
    return claim_of(reading.tool.description, reading.name.verb).kind in ("names", "vague")


def _changes_fields(reading: Reading, bound: Bound, others: Sequence[Argument]) -> bool:
    """`renew_loan(loan_id, new_due_date)`: what is given says what changes, so no new state is made up."""
    paths = [field_for(one, bound.collection) for one in others if one.is_required]
    if (
        reading.name.verb in DONE_TO_OTHERS
    ):  # like_post(post_id, user_id): the post is in no other state by it
        return any(path is not None for path in paths)
    return any(path is not None and not _is_settled_link(path, bound) for path in paths)


def _is_settled_link(path: tuple[str, ...], bound: Bound) -> bool:
    """`cancel_order(order_id, user_id)`: every order has its buyer already, whatever that field is called."""
    fields, links = bound.collection.fields, bound.collection.links
    is_link = len(path) == 1 and any(link.path == path for link in links)
    return is_link and "null" not in fields[path[0]].kinds


def read_known_effect(reading: Reading) -> Drafted | None:
    """A verb that nobody listed, or that has other meanings, but whose effect the records show."""
    bound = record_of(reading)
    if bound is None or bound.collection.form != "table" or not knows_effect(reading, bound.collection):
        return None
    return read_transition(reading)


_STARTS = word_set("start begin open launch deploy publish issue initiate submit schedule post activate")


def read_started(reading: Reading) -> Drafted | None:
    """`start_server(server_id)`: of a thing that is there already, a change of state; else it is made."""
    if reading.name.verb not in _STARTS or not reading.picks_own():
        return None
    return read_transition(reading)


def allowed_values(arguments: Sequence[Argument]) -> list[Step]:
    """ "should be either 'a' or 'b'": anything else is refused."""
    steps: list[Step] = []
    for one in arguments:
        if one.values and not one.schema.get("enum") and one.is_scalar:
            value = arg(one.name)
            condition = is_in(value, one.values)
            condition = condition if one.is_required else any_of(is_null(value), condition)
            shown = " or ".join(map(str, one.values))
            steps.append(
                require(condition, refusal(f"invalid_{one.name}", f"{one.name} must be {shown}", 400))
            )
    return [*steps, *_in_order(arguments)]


_ENDS = {"start": "end", "starts": "ends", "begin": "end", "from": "to", "in": "out", "arrival": "departure"}
_OF_TIME = word_set("date time at on day check arrival departure")


def _in_order(arguments: Sequence[Argument]) -> Iterator[Step]:
    """check_in and check_out, start_date and end_date: nothing ends before it begins."""
    by_words = {one.words: one for one in arguments if one.kind in ("text", "any")}
    for words, start in by_words.items():
        end = by_words.get(tuple(_ENDS.get(word, word) for word in words))
        is_time = str(start.schema.get("format", "")).startswith("date") or _OF_TIME & set(words)
        if end is None or end is start or not is_time:
            continue
        failure = refusal("invalid_dates", f"{end.name} must not be before {start.name}", 400)
        is_later = Not(call("is_before", arg(end.name), arg(start.name)))
        is_time_of_day = compare(call("len", arg(end.name)), "<", Constant(10))
        # From 22:00 to 06:00 is in order: only days tell.
        yield require(any_of(is_time_of_day, is_later) if "time" in words else is_later, failure)


def _switched(reading: Reading, bound: Bound, checks: list[Step], switch: tuple[str, bool | None]) -> Drafted:
    field, value = switch
    place = dot(bound.noun, field)
    if value is None:
        turned: list[Step] = [{"set": {place: Not(place)}}, {"return": change_reply(reading, bound)}]
        return Drafted(steps=(*checks, *turned), confidence=0.8)
    shown = f"{bound.noun.replace('_', ' ')} is already {participle(reading.name.verb)}"
    already = refusal(f"already_{participle(reading.name.verb)}", f"The {shown}")
    steps: list[Step] = [
        *checks,
        require(differs(place, constant(value)), already),
        {"set": {place: value}},
        {"return": change_reply(reading, bound)},
    ]
    return Drafted(steps=tuple(steps), confidence=0.8)


def kept_arguments(
    reading: Reading, bound: Bound, others: Sequence[Argument]
) -> tuple[dict[Expr, Draft], list[Step]]:
    """Where the other arguments are kept: hold_reason ← reason, repair_parts ← part_ids."""
    fields = bound.collection.fields
    changes: dict[Expr, Draft] = {}
    lets: list[Step] = []
    for argument in others:
        name = _kept_as(argument, reading, fields) or _blank_link(argument, bound)
        path = field_for(argument, bound.collection)
        if path is not None and len(path) > 1 and argument.is_scalar:
            changes[dot(bound.noun, *path)] = arg(argument.name)  # `shipping.tracking_code`
        elif name is not None:
            changes[dot(bound.noun, name)] = kept_value(argument)
    for name, suffix in verb_fields(reading.name.verb, fields):
        if suffix == ("price", "difference") or suffix == ("difference",):
            computed = price_difference(reading, bound)
            if computed is not None:
                lets += computed.steps
                changes[dot(bound.noun, name)] = computed.value
    return changes, lets


def _blank_link(argument: Argument, bound: Bound) -> str | None:
    """`reserve_plot(plot_no, owner_id)`: for whom it is, where a plot may have nobody."""
    path = bound.collection.link_to(argument.id_noun or ()) if argument.is_required else None
    field = bound.collection.fields.get(path[0]) if path is not None and len(path) == 1 else None
    return path[0] if path is not None and field is not None and "null" in field.kinds else None


def kept_value(argument: Argument) -> Expr:
    """The argument as it is kept. A list that may repeat itself is a bag, its order means nothing: sorted."""
    is_bag = is_list_of_ids(argument) and "duplicate" in argument.description.lower()
    return call("sort", arg(argument.name)) if is_bag else arg(argument.name)


def _kept_as(argument: Argument, reading: Reading, fields: Mapping[str, Field]) -> str | None:
    for name, suffix in verb_fields(reading.name.verb, fields):
        if _same_words(suffix, argument):
            return name
    names = (argument.name, "_".join(argument.words[1:])) if argument.words[0] == "new" else (argument.name,)
    own = next((found for name in names if (found := find_field(fields, name))), None)
    if own is not None and not fields[own].keeps:
        return own
    if argument.id_noun is not None or argument.kind in ("list", "object"):
        return None
    if argument.words[-1] in _OF_THE_CHANGE and len(argument.words) == 1:
        done = participle(reading.name.verb)
        return next(
            (name for name in (f"{done}_{argument.name}",) if name in fields),
            f"{reading.name.verb}_{argument.name}",
        )
    return argument.name


def _same_words(suffix: tuple[str, ...], argument: Argument) -> bool:
    if joined(suffix) == joined(argument.words):
        return True
    if not is_list_of_ids(argument):
        return False
    return singulars(suffix) == singulars(argument.words[:-1]) and suffix[-1:] != (part_noun(argument),)


def verb_fields(verb: str, fields: Mapping[str, Field]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Fields that belong to a verb, with the rest of their names: hold_reason → reason."""
    heads = {verb, participle(verb), *action_nouns(verb)}
    for name in fields:
        words = tokens(name)
        if len(words) > 1 and words[0] in heads:
            yield name, words[1:]


def _times(reading: Reading, bound: Bound) -> dict[Expr, Draft]:
    """cancelled_at, suspension_start_date: set where the world has such a field, cleared when it is over."""
    verb, fields = reading.name.verb, bound.collection.fields
    heads = [tokens(one) for one in (participle(verb), *action_nouns(verb))]
    return {
        dot(bound.noun, name): time_like(field.example)
        for name, field in fields.items()
        if any(tokens(name)[: len(head)] == head for head in heads)
        and tokens(name)[-1] in ("at", "date", "on", "time")
    }
