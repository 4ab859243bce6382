"""Transitions and their undoing: cancel, close, approve, enable; reopen, lift, release; a state that is given
(`decide_leave(request_id, decision)`), a reference that is let go (`release_locker`)."""

from collections.abc import Iterator, Mapping, Sequence

from pipelines.core.english.inflection import action_nouns, participle
from pipelines.core.english.verbs import DONE_TO_OTHERS
from pipelines.core.english.words import joined, singulars, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument, is_list_of_ids, part_noun
from pipelines.core.simulation.domain.clauses import claim_of
from pipelines.core.simulation.domain.shapes import Field, find_field
from pipelines.core.simulation.expr.make import (
    Draft,
    arg,
    call,
    constant,
    expressions_in,
)
from pipelines.core.simulation.expr.nodes import Expr, Not
from pipelines.core.simulation.reading.amounts import price_difference, refund_steps
from pipelines.core.simulation.reading.filters import field_for
from pipelines.core.simulation.reading.records import (
    change_notes,
    change_remarks,
    change_reply,
    others_of,
    ownership,
    record_of,
    time_like,
)
from pipelines.core.simulation.reading.states import (
    Change,
    change_of,
    known_states,
    state_conditions,
    status_of,
)
from pipelines.core.simulation.reading.steps import Bound, Drafted, Step, dot
from pipelines.core.simulation.reading.tool_reading import Reading

# DescriptionFacts of the change rather than of the record, so kept under the verb: hold_reason.
_OF_THE_CHANGE = word_set("reason note notes comment comments by date remark explanation")
_DECISIONS = word_set("decision outcome verdict result state status")


def read_transition(reading: Reading) -> Drafted | None:
    """To the state that the words lead to, with what is given kept beside it."""
    bound = record_of(reading)
    change = change_of(reading, bound.collection) if bound is not None else None
    if bound is None or change is None:
        return None
    if not change.is_known and not _changes_fields(reading, bound):
        # "renew a loan by 14 days" changes how much; "Settlement." of `settle_season` is the name once more.
        # Records that have no field for a state get one where nothing else is asked for.
        kind = claim_of(reading.tool.description, reading.name.verb).kind
        is_stateless = change.path[0] not in bound.collection.fields and not bound.collection.is_empty
        is_stateless = is_stateless and any(one.is_required for one in others_of(reading))
        if reading.said.by_so_much or kind in ("names", "vague") or is_stateless:
            return None
    return _changed(reading, bound, change)


def read_evident(reading: Reading) -> Drafted | None:
    """To a state or a switch that the tool's words name, whatever its verb."""
    bound = record_of(reading)
    if bound is None or bound.collection.form != "table":
        return None
    change = change_of(reading, bound.collection, by_verb=False)
    if change is None:
        return None
    # Where it is not clear that anything is done at all, name and description have to say the same.
    claim = claim_of(reading.tool.description)
    is_told = claim.kind in ("reads", "names") and claim.verb != "give"  # "Gives a captain VIP standing"
    if reading.name.op is None and (is_told or not change.by_name):
        return None
    return _changed(reading, bound, change)


def _changed(reading: Reading, bound: Bound, change: Change) -> Drafted | None:
    others = others_of(reading)
    owned = ownership(bound, others, reading)
    others = [one for one in others if not _is_checked(one, owned)]
    place, is_turned = dot(bound.noun, *change.path), reading.name.verb == "toggle"
    kept, lets = _kept_arguments(reading, bound, others)
    if change.is_known or not _changes_fields(reading, bound):
        kept = {place: Not(place) if is_turned else constant(change.value)} | kept
    if not kept:
        return None
    kept = _times(reading, bound) | kept  # a day that is given is the day
    target = change.value if place in kept and not is_turned else None
    steps: list[Step] = [
        *bound.steps,
        *owned,
        *state_conditions(reading, bound, change.path, target),
        *lets,
        {"set": kept},
        *refund_steps(reading, bound),
        {"return": change_reply(reading, bound, changed=change.path)},
    ]
    notes = change_notes(reading, bound, kept)
    if place in kept and not change.is_known and known_states(reading, bound.collection):
        note = f"no record is {change.value} yet: the state is made of the verb `{reading.name.verb}`"
        notes = (note, *notes)
    return Drafted(steps=tuple(steps), notes=notes, remarks=change_remarks(reading, bound, kept))


def _times(reading: Reading, bound: Bound) -> dict[Expr, Draft]:
    """cancelled_at, suspension_start_date: set where the world has such a field."""
    verb, fields = reading.name.verb, bound.collection.fields
    heads = [tokens(one) for one in (participle(verb), *action_nouns(verb))]
    return {
        dot(bound.noun, name): time_like(field.example)
        for name, field in fields.items()
        if any(tokens(name)[: len(head)] == head for head in heads)
        and tokens(name)[-1] in ("at", "date", "on", "time")
    }


def read_decided(reading: Reading) -> Drafted | None:
    """`decide_leave(request_id, decision)`: the state is given, and is one that the records have."""
    bound = record_of(reading)
    path = status_of(reading, bound.collection) if bound is not None else None
    if bound is None or path is None or bound.collection.form != "table":
        return None
    states = {joined(tokens(one)) for one in known_states(reading, bound.collection)}
    for one in others_of(reading):
        given = {joined(tokens(value)) for value in one.values if isinstance(value, str)}
        is_state = bool(given & states) or (one.words[-1] in _DECISIONS and not given)
        if not one.is_required or not is_state or field_for(one, bound.collection) is not None:
            continue
        answer = change_reply(reading, bound, changed=path)
        change: Step = {"set": {dot(bound.noun, *path): arg(one.name)}}
        note = f"`{one.name}` becomes the state of the record, as it is given"
        return Drafted(steps=(*bound.steps, change, {"return": answer}), notes=(note,), confidence=0.8)
    return None


def _is_checked(argument: Argument, owned: Sequence[Step]) -> bool:
    """`cancel_order(order_id, buyer_id)`: whose it is has to fit, so the call does not set it."""
    conditions = expressions_in([step.get("require") for step in owned])
    given = arg(argument.name)
    return any(inner.arguments[-1:] == (given,) for one in conditions for inner in one.calls())


def _changes_fields(reading: Reading, bound: Bound) -> bool:
    """`renew_loan(loan_id, new_due_date)`: what is given says what changes, so no new state is made up. But
    every order has its buyer already, whatever that field is called: `cancel_order(order_id, user_id)`."""
    given = [one for one in others_of(reading) if one.is_required]
    paths = [path for one in given if (path := field_for(one, bound.collection))]
    if reading.name.verb in DONE_TO_OTHERS:
        return bool(paths)  # like_post(post_id, user_id): the post is in no other state by it
    fields, links = bound.collection.fields, {link.path for link in bound.collection.links}
    return any(path not in links or len(path) > 1 or "null" in fields[path[0]].kinds for path in paths)


def _kept_arguments(
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
            # A list that may repeat itself is a bag, its order means nothing: sorted.
            is_bag = is_list_of_ids(argument) and "duplicate" in argument.description.lower()
            changes[dot(bound.noun, name)] = (
                call("sort", arg(argument.name)) if is_bag else arg(argument.name)
            )
    for name, suffix in verb_fields(reading.name.verb, fields):
        computed = price_difference(reading, bound) if suffix[-1:] == ("difference",) else None
        if computed is not None:
            lets += computed.steps
            changes[dot(bound.noun, name)] = computed.value
    return changes, lets


def _blank_link(argument: Argument, bound: Bound) -> str | None:
    """`reserve_plot(plot_no, owner_id)`: for whom it is, where a plot may have nobody."""
    path = bound.collection.link_to(argument.id_noun or ()) if argument.is_required else None
    field = bound.collection.fields.get(path[0]) if path is not None and len(path) == 1 else None
    return path[0] if path is not None and field is not None and "null" in field.kinds else None


def _kept_as(argument: Argument, reading: Reading, fields: Mapping[str, Field]) -> str | None:
    for name, suffix in verb_fields(reading.name.verb, fields):
        if _same_words(suffix, argument):
            return name
    names = (argument.name, "_".join(argument.words[1:])) if argument.words[0] == "new" else (argument.name,)
    own = next((found for name in names if (found := find_field(fields, name))), None)
    if own is not None and not fields[own].keeps:
        # `cancel_order(order_id, user_id?)`: an id that may be left out says who asks, and is no new owner.
        return own if argument.is_required or argument.id_noun is None else None
    if argument.id_noun is not None or argument.kind in ("list", "object"):
        return None
    if argument.words[-1] in _OF_THE_CHANGE and len(argument.words) == 1:
        done = f"{participle(reading.name.verb)}_{argument.name}"
        return done if done in fields else f"{reading.name.verb}_{argument.name}"
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
