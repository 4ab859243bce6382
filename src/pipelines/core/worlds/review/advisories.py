"""What an author should look at in a world before rows are asked of it: one pure function for each.

Each says what is the matter, where, and, where a sentence would mend it, that sentence (`refine` accepts it).
Those here need the tools: what they can and cannot do on this world, and both sides of rules.
"""

from collections.abc import Callable, Iterator, Mapping

from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.worlds.draw import Draw
from pipelines.core.worlds.ground import Ground, ground_of
from pipelines.core.worlds.outline import FieldOutline, TypeOutline
from pipelines.core.worlds.records.rule_cases import cases_of, tester
from pipelines.core.worlds.records.sides import Border
from pipelines.core.worlds.review.advise_records import (
    answer_in_text,
    dangling_reference,
    doubled_key,
    narrow_dates,
    single_owner,
    state_contradicts_times,
    total_mismatch,
    unused_enum_value,
)
from pipelines.core.worlds.rows.tool_in_world import NO_LIMITS, tool_in_world
from pipelines.core.worlds.rows.trials import Trial, trials, tried, untried
from pipelines.core.worlds.shapes import Advisory, Toolset
from pipelines.core.worlds.types.world_outline import types_in


def touched_types(ground: Ground) -> set[str]:
    """Types that plans find, add or look through."""
    return {kind for tool in ground.toolset.tools for kind in _kinds_in(_body(ground, tool.name))}


def untouched_types(ground: Ground) -> Iterator[str]:
    spoken = touched_types(ground)
    linked = {one.refers_to for kind in spoken for one in _references(ground, kind)}
    return (name for name in types_in(ground.state) if name not in spoken and name not in linked)


def untouched_type(ground: Ground, now: str) -> Iterator[Advisory]:
    records = types_in(ground.state)
    for name in untouched_types(ground):
        own = ground.outline.types[name]
        says = f"No tool reads or changes any {own.noun}, and nothing that they do refers to one."
        fix = f"remove all {own.many}" if records[name] else None
        yield Advisory(name="untouched_type", message=says, places=(pointer([name]),), fix=fix)


def _body(ground: Ground, tool: str) -> Json:
    plan = ground.simulator.plan_of(tool).plan
    return plan.body if plan is not None else None


def _references(ground: Ground, kind: str) -> Iterator[FieldOutline]:
    own = ground.outline.types.get(kind)
    for one in own.fields if own is not None else ():
        yield one
        yield from one.parts


def _kinds_in(body: Json) -> Iterator[str]:
    """Types that the steps of a plan find, add or look through."""
    if isinstance(body, dict):
        for key, value in body.items():
            if key == "in" and isinstance(value, str):
                yield value
            yield from _kinds_in(value)
    elif isinstance(body, list):
        for each in body:
            yield from _kinds_in(each)


# -- what tools can do here


def _tried_tools(ground: Ground, now: str) -> Mapping[str, list[Trial]]:
    key = ("worlds.advised", now)
    known: dict[str, list[Trial]] | None = ground.world.derived.get(key)
    if known is None:
        skipped = untried(ground)
        names = [tool.name for tool in ground.toolset.tools if tool.name not in skipped]
        known = {name: list(trials(ground, name, Draw(0), now, NO_LIMITS)) for name in names}
        ground.world.derived[key] = known
    return known


def tool_cannot_succeed(ground: Ground, now: str) -> Iterator[Advisory]:
    for name, found in _tried_tools(ground, now).items():
        own = tool_in_world(ground, name).own
        if own is None or any(one.went_through for one in found):
            continue
        records = types_in(ground.state).get(own.name, {})
        target = tool_in_world(ground, name).target
        if not records and target is not None and own.name in _kinds_in(_body(ground, name)):
            says = f"{name} cannot succeed: there is no {own.noun}."
            more = f"add 3 {own.many}"
            yield Advisory(name="tool_cannot_succeed", message=says, places=(pointer([own.name]),), fix=more)
        elif any(one.outcome in ("refused", "forbidden") for one in found):
            state = _state_that(ground, name, own, found, now, ("changed", "answered"))
            fix = f'add 2 {own.many} with {own.status.name} "{state}"' if state and own.status else None
            says = f"{name} is refused for every {own.noun} of this world that was tried."
            yield Advisory(name="tool_cannot_succeed", message=says, places=(pointer([own.name]),), fix=fix)


def tool_cannot_fail(ground: Ground, now: str) -> Iterator[Advisory]:
    """Only of tools that have a condition on records: what may never be refused cannot fail anywhere."""
    for name, found in _tried_tools(ground, now).items():
        request = tool_in_world(ground, name)
        own = request.own
        if own is None or request.target is None or not _has_condition(_body(ground, name)):
            continue
        if not found or any(one.outcome in ("refused", "forbidden") for one in found):
            continue
        state = _state_that(ground, name, own, found, now, ("refused", "forbidden"))
        if state is None or own.status is None:
            continue  # its conditions are about arguments, or cannot be met by a state alone
        fix = f'add 1 {own.noun} with {own.status.name} "{state}"'
        says = f"{name} is refused for no {own.noun} of this world, though it may be for one that is {state}."
        yield Advisory(name="tool_cannot_fail", message=says, places=(pointer([own.name]),), fix=fix)


def _has_condition(body: Json) -> bool:
    if isinstance(body, dict):
        return "require" in body or any(map(_has_condition, body.values()))
    return isinstance(body, list) and any(map(_has_condition, body))


def _state_that(
    ground: Ground, tool: str, own: TypeOutline, found: list[Trial], now: str, wanted: tuple[str, ...]
) -> str | None:
    """The state in which a record would end the call so."""
    status = own.status
    picked = next(
        (one for one in found if one.candidate.about is not None and one.candidate.variant == "plain"), None
    )
    if status is None or picked is None or picked.candidate.about is None:
        return None
    id = picked.candidate.about[1]
    records = types_in(ground.state)[own.name]
    for state in status.values if id in records else ():
        other = {**records, id: {**records[id], status.name: state}}
        changed = Ground(ground.toolset, {**ground.state, own.name: other})  # type: ignore[dict-item]
        ended = tried(changed, picked.candidate, now)
        if ended is not None and ended.outcome in wanted and isinstance(state, str):
            return state
    return None


# -- rules


def rule_without_case(ground: Ground, now: str) -> Iterator[Advisory]:
    for rule in ground.rules:
        cases = cases_of(rule, ground.vocabulary, ground.world, now)
        if cases is None or cases.missing is None or cases.kind not in ground.outline.types:
            continue
        own = ground.outline.types[cases.kind]
        says = f"No {own.noun} is a case that this rule {cases.missing}: {rule.sentence}"
        fix = _case(ground, rule, own, now, wanted=cases.missing == "allows")
        yield Advisory(name="rule_without_case", message=says, places=(pointer([own.name]),), fix=fix)


def _case(ground: Ground, rule: Rule, own: TypeOutline, now: str, *, wanted: bool) -> str | None:
    """A record that would be on the missing side, as a sentence."""
    test = tester(rule, ground.vocabulary, now)
    records = types_in(ground.state).get(own.name, {})
    if test is None or not records:
        return f"add 3 {own.many}" if not records else None
    border = Border(rule, test, ground.outline, ground.world)
    for field in border.fields:
        for value, outcome in border.values(field, next(iter(records))):
            if value is not None and outcome is wanted:
                value_text = f'"{value}"' if isinstance(value, str) else str(value).lower()
                return f"add 1 {own.noun} with {field.name} {value_text}"
    return None


Adviser = Callable[[Ground, str], Iterator[Advisory]]

#: By name, in the order in which they are shown: what makes rows wrong first, then what makes them poor.
ADVISERS: Mapping[str, Adviser] = {
    "dangling_reference": dangling_reference,
    "total_mismatch": total_mismatch,
    "state_contradicts_times": state_contradicts_times,
    "doubled_key": doubled_key,
    "answer_in_text": answer_in_text,
    "rule_without_case": rule_without_case,
    "tool_cannot_succeed": tool_cannot_succeed,
    "tool_cannot_fail": tool_cannot_fail,
    "untouched_type": untouched_type,
    "unused_enum_value": unused_enum_value,
    "single_owner": single_owner,
    "narrow_dates": narrow_dates,
}


def advisories(
    toolset: Toolset, state: JsonObject, *, now: str, ground: Ground | None = None
) -> list[Advisory]:
    here = ground or ground_of(toolset, state)
    return [one for adviser in ADVISERS.values() for one in adviser(here, now)]
