"""Transitions and their undoing: cancel, close, approve, enable; reopen, lift, release; a state that is given
(`decide_leave(request_id, decision)`), a reference that is let go (`release_locker`)."""

from collections.abc import Iterator, Mapping, Sequence

from pipelines.core.english.inflection import action_nouns, participle
from pipelines.core.english.verbs import DONE_TO_OTHERS
from pipelines.core.english.words import joined, singulars, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument, is_list_of_ids, part_noun
from pipelines.core.simulation.domain.clauses import claim_of
from pipelines.core.simulation.domain.fields import field_at
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
from pipelines.core.simulation.reading.amounts import price_difference, refund_steps
from pipelines.core.simulation.reading.filters import field_for
from pipelines.core.simulation.reading.records import (
    change_notes,
    change_remarks,
    change_reply,
    others_of,
    ownership,
    record_of,
)
from pipelines.core.simulation.reading.states import (
    Change,
    change_of,
    known_states,
    state_conditions,
    status_of,
    told_state,
)
from pipelines.core.simulation.reading.steps import Bound, Drafted, Step, dot, refusal, require, spoken, word
from pipelines.core.simulation.reading.tool_reading import Reading

#: Seen or declared: with so many, one that is not among them is doubtful, unless name and description agree
#: on the verb that leads there.
_STATES_THAT_TELL = 3
# Said of the change rather than of the record, so kept under the verb: hold_reason.
_OF_THE_CHANGE = word_set("reason note notes comment comments by date remark explanation")
_DECISIONS = word_set("decision outcome verdict result state status")


def read_transition(reading: Reading) -> Drafted | None:
    """To the state that the words lead to, with what is given kept beside it."""
    bound = record_of(reading)
    if bound is None:
        return None
    others = others_of(reading)
    owned = ownership(bound, others, reading)
    checks = [*bound.steps, *owned, *allowed_values(others)]
    others = [one for one in others if not _is_checked(one, owned)]
    change = change_of(reading, bound.collection)
    if change is None:
        return None
    status = status_of(reading, bound.collection)
    if change.is_known and change.path != status and told_state(reading) is None:
        return stated(reading, bound, change)
    gives_more = _changes_fields(reading, bound, others)
    if not change.is_known:
        if reading.said.amount is not None:
            return None  # "renew a loan by 14 days" changes how much, and no state that anybody named
        is_doubtful = len(known_states(reading, bound.collection)) >= _STATES_THAT_TELL
        is_doubtful = (is_doubtful and not _says_the_verb(reading)) or _only_names_it(reading)
        if is_doubtful and not gives_more:
            return None  # the records have states, and this is none: which one is meant would be a guess
    changes: dict[Expr, Draft] = {}
    place = dot(bound.noun, *change.path)
    if change.is_known or not gives_more:
        changes[place] = constant(change.value)
    kept, lets = _kept_arguments(reading, bound, others)
    changes |= kept
    if not changes:
        return None
    steps: list[Step] = [
        *checks,
        *state_conditions(reading, bound.collection, bound.noun, change.value if place in changes else None),
        *lets,
        {"set": changes},
        *refund_steps(reading, bound),
        {"return": change_reply(reading, bound, changed=change.path)},
    ]
    notes = change_notes(reading, bound, changes)
    if place in changes and not change.is_known and known_states(reading, bound.collection):
        notes = (
            f"no record is {change.value} yet: the state is made of the verb `{reading.name.verb}`",
            *notes,
        )
    remarks = change_remarks(reading, bound, changes)
    return Drafted(steps=tuple(steps), notes=notes, remarks=remarks, confidence=0.8)


def read_evident(reading: Reading) -> Drafted | None:
    """To a state or a switch that the tool's words name, whatever its verb."""
    bound = record_of(reading)
    if bound is None or bound.collection.form != "table":
        return None
    change = change_of(reading, bound.collection, by_verb=False)
    if change is None:
        return None
    # Where it is not clear that anything is done at all, name and description have to say the same.
    said = claim_of(reading.tool.description)
    is_told = said.kind in ("reads", "names") and said.verb != "give"  # "Gives a captain VIP standing"
    if reading.name.op is None and (is_told or not change.by_name):
        return None
    return stated(reading, bound, change)


def stated(reading: Reading, bound: Bound, change: Change) -> Drafted:
    place, literal = dot(bound.noun, *change.path), constant(change.value)
    shown = str(change.value) if isinstance(change.value, str) else change.path[-1].replace("_", " ")
    shown = f"not {shown}" if change.value is False else shown
    if isinstance(change.value, bool) and reading.name.op == "transition":
        shown = participle(reading.name.verb)
    told = f"The {spoken(bound.noun).replace('_', ' ')} is already {shown}"
    others = others_of(reading)
    changes: dict[Expr, Draft] = {place: literal if isinstance(change.value, str) else change.value}
    for one in others:
        path = field_for(one, bound.collection)
        if path is not None and path != change.path and field_at(bound.collection.fields, path) is not None:
            changes[dot(bound.noun, *path)] = arg(one.name)
    steps: list[Step] = [
        *bound.steps,
        *ownership(bound, [one for one in others if arg(one.name) not in changes.values()], reading),
        require(differs(place, literal), refusal(f"already_{word(shown)}", told)),
        {"set": changes},
        {"return": change_reply(reading, bound, changed=change.path)},
    ]
    return Drafted(steps=tuple(steps), notes=change_notes(reading, bound, changes), confidence=0.8)


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
    """`renew_loan(loan_id, new_due_date)`: what is given says what changes, so no new state is made up. But
    every order has its buyer already, whatever that field is called: `cancel_order(order_id, user_id)`."""
    paths = [path for one in others if one.is_required and (path := field_for(one, bound.collection))]
    if reading.name.verb in DONE_TO_OTHERS:
        return bool(paths)  # like_post(post_id, user_id): the post is in no other state by it
    fields, links = bound.collection.fields, {link.path for link in bound.collection.links}
    return any(path not in links or len(path) > 1 or "null" in fields[path[0]].kinds for path in paths)


def allowed_values(arguments: Sequence[Argument]) -> list[Step]:
    """ "should be either 'a' or 'b'": anything else is refused."""
    steps: list[Step] = []
    for one in arguments:
        if one.values and not one.schema.get("enum") and one.is_scalar:
            value, shown = arg(one.name), " or ".join(map(str, one.values))
            condition = is_in(value, one.values)
            condition = condition if one.is_required else any_of(is_null(value), condition)
            failure = refusal(f"invalid_{one.name}", f"{one.name} must be {shown}", 400)
            steps.append(require(condition, failure))
    return [*steps, *_in_order(arguments)]


_ENDS = {"start": "end", "starts": "ends", "begin": "end", "from": "to", "in": "out", "arrival": "departure"}
_OF_TIME = word_set("date time at on day check arrival departure")


def _in_order(arguments: Sequence[Argument]) -> Iterator[Step]:
    """check_in and check_out, start_date and end_date: nothing ends before it begins."""
    by_words = {one.words: one for one in arguments if one.kind in ("text", "any")}
    for words, start in by_words.items():
        end = by_words.get(tuple(_ENDS.get(word, word) for word in words))
        is_time = str(start.schema.get("format", "")).startswith("date") or _OF_TIME & {*words}
        if end is None or end is start or not is_time:
            continue
        failure = refusal("invalid_dates", f"{end.name} must not be before {start.name}", 400)
        is_later = Not(call("is_before", arg(end.name), arg(start.name)))
        is_time_of_day = compare(call("len", arg(end.name)), "<", Constant(10))
        # From 22:00 to 06:00 is in order: only days tell.
        yield require(any_of(is_time_of_day, is_later) if "time" in words else is_later, failure)


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
