"""Plans as code: what is emitted agrees with the interpreter, and holds nothing of what an author wrote."""

import ast
import contextlib
import copy
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from random import Random
from types import CodeType, FunctionType
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from invented_backends import ALL
from random_plans import Case, random_case
from test_example_backends import BACKENDS, desk, shop

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.call import Call
from pipelines.core.simulation.call_history import CallHistory
from pipelines.core.simulation.emit import Code, emitted
from pipelines.core.simulation.emit.expressions import VISITORS
from pipelines.core.simulation.interpret import run_block
from pipelines.core.simulation.language import Plan, parse_plan
from pipelines.core.simulation.plan_text import parse_plans_text
from pipelines.core.simulation.plan_verbs import VERBS
from pipelines.core.simulation.run_plan import answered, run
from pipelines.core.simulation.simulator import Moment, SimulationFailed
from pipelines.core.simulation.syntax.compiler import Given
from pipelines.core.simulation.syntax.functions import FUNCTIONS
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Refused

BOUGHT: list[JsonObject] = [
    {"sku": "a", "price": 4, "quantity": 1},
    {"sku": "b", "price": 2.5, "quantity": 3},
]
MOMENT = Moment("seed", 3, "2026-11-15T10:30:00Z", CallHistory({"buy": BOUGHT}))

AS_BOUGHT = copy.deepcopy(BOUGHT)


class Untimed(Call):
    """On a machine where nothing takes any time."""

    clock = staticmethod(lambda: 0.0)


def came_of(code: Code, arguments: JsonObject, ledger: Ledger, budget: int | None) -> tuple[object, ...]:
    """Everything a call can be seen by: its reply, its updates or its error, and what it cost."""
    call = Untimed(copy.deepcopy(arguments), ledger, MOMENT)
    if budget is not None:
        call.allow(budget)
    try:
        reply = answered(code, call)
    except SimulationFailed as failed:
        return (failed.code, str(failed), call.left, call.draws)
    updates = [update.as_json() for update in reply.updates]
    return (reply.status, orjson.dumps([reply.response, updates]), reply.rule, call.left, call.draws)


def both(plan: Plan, arguments: JsonObject, ledger: Ledger, budget: int | None = None) -> tuple[object, ...]:
    """What came of it, the same both ways."""
    code = emitted(plan.steps)
    assert code is not None
    found = came_of(code, arguments, ledger, budget)
    assert found == came_of(partial(run_block, plan.steps), arguments, ledger, budget), plan.body
    return found


def outcome_of(case: Case) -> str:
    """In a word; then the same call again, after the changes of the first. What was seeded stays the same."""
    try:
        plan = parse_plan(case.body, origin="authored")
    except Refused:
        return "refused"
    state = orjson.dumps(case.state)
    ledger = Ledger(World.from_initial_state(case.state))
    ended, *_ = both(plan, case.arguments, ledger, case.budget)
    if isinstance(ended, int):
        updates = run(plan, case.arguments, ledger, MOMENT).updates if case.budget is None else ()
        ledger.apply(updates)
        both(plan, case.arguments, ledger)
    assert orjson.dumps(case.state) == state
    assert BOUGHT == AS_BOUGHT
    return (
        ended if isinstance(ended, str) else "reply" if isinstance(ended, int) and ended < 400 else "failure"
    )


@settings(max_examples=150)
@given(st.integers(0, 2**48))
def test_a_random_plan_ends_the_same_interpreted_and_emitted(seed):
    outcome_of(random_case(Random(seed)))


@pytest.mark.slow
def test_ten_thousand_random_plans_end_the_same_and_mostly_at_their_end():
    outcomes: Counter[str] = Counter()
    seed = 0
    while outcomes.total() - outcomes["refused"] < 10_000:
        outcomes[outcome_of(random_case(Random(seed)))] += 1
        seed += 1
    print(outcomes)
    assert outcomes["reply"] > 5_000
    assert outcomes["plan_budget"] > 300
    assert outcomes["refused"] < 1_500


def test_random_plans_say_all_that_the_language_can_say():
    verbs, functions, forms = set(), set(), set()
    for seed in range(1000):
        for step in all_steps(random_case(Random(seed)).body):
            verbs |= step.keys() & VERBS.keys()
            for text in texts_in(step):
                forms |= {type(node) for node in nodes_of(text)}
                functions |= {
                    node.id for node in nodes_of(text) if isinstance(node, ast.Name)
                } & FUNCTIONS.keys()
    assert verbs == VERBS.keys()
    assert functions == FUNCTIONS.keys()
    assert forms >= set(VISITORS) - {Given}


def all_steps(block: list[Any]) -> Iterator[dict[str, Any]]:
    for step in block:
        yield step
        for key in ("do", "then", "else"):
            if isinstance(step.get(key), list):
                yield from all_steps(step[key])


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts_in(part)


def nodes_of(text: str) -> list[ast.AST]:
    try:
        return list(ast.walk(ast.parse(text.strip(), mode="eval").body))
    except SyntaxError:  # a message, or a name of a type
        return []


# -- plans that exist


@pytest.mark.parametrize("name", [*ALL])
def test_plans_that_were_read_end_the_same(name):
    backend = ALL[name]
    world = World.from_initial_state(backend.state)
    simulator = build_simulator(backend.tools, world=world, ledger_schema=backend.ledger_schema)
    random = Random(name)
    for found in simulator.plans.values():
        replayed(found.plan, random, Ledger(world))


@pytest.mark.parametrize("path", sorted(BACKENDS.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_example_backends_end_the_same(path):
    random = Random(path.stem)
    state = shop() if path.stem == "retail" else desk()
    for plan in parse_plans_text(path.read_text()).values():
        replayed(plan, random, Ledger(World.from_initial_state(state)))


def replayed(plan: Plan | None, random: Random, ledger: Ledger) -> None:
    """Thirty calls with values that the world has, each after the changes of those before."""
    if plan is None:
        return
    known = values_in(ledger.as_state())
    for _ in range(30):
        arguments = {name: random.choice(known) for name in argument_names(plan.body)}
        both(plan, arguments, ledger)
        with contextlib.suppress(SimulationFailed):
            ledger.apply(run(plan, arguments, ledger, MOMENT).updates)


def argument_names(body: Json) -> list[str]:
    found = re.findall(r"args\.(\w+)|args\['(\w+)'\]", json.dumps(body))
    return sorted({one or other for one, other in found})


def values_in(value: Json) -> list[Json]:
    """Every key and value, for arguments that often mean something."""
    if isinstance(value, dict):
        return [*value, *(inner for part in value.values() for inner in values_in(part)), value]
    if isinstance(value, list):
        return [value, *(inner for part in value for inner in values_in(part))]
    return [value]


# -- what the code holds

HOSTILE = (
    "'); __import__('os').system('x') #", 'a"b', "a\nb", "a\\", "__class__", "__import__", "ünïcode", "k0",
    "call", "\u2028", "{0.__class__}", "v1", "at",
)  # fmt: skip


def held_by(code: CodeType) -> Iterator[object]:
    """Every name and constant of a code object, and of those inside it."""
    yield from (code.co_name, code.co_filename, *code.co_names, *code.co_varnames, *code.co_freevars)
    yield from code.co_cellvars
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from held_by(constant)
        else:
            yield constant


def hostile_plan(text: str) -> list[Json]:
    """A plan that has the text wherever a text can stand."""
    quoted, doubled = repr(text), text.replace("{", "{{").replace("}", "}}")
    fields: JsonObject = {text: quoted, f"[{quoted}]": f"o[{quoted}]", "x": f"[{quoted}, f{doubled!r}]"}
    if text.isidentifier():
        fields["y"] = f"[{text} for {text} in o.items]" if text not in ("__class__", "__import__") else "1"
    failure: JsonObject = {"error": "no", "message": doubled}
    return [
        {"find": {"as": "o", "in": text, "id": quoted, "else": failure}, "rule": text},
        {"find": {"as": "all", "in": text, "where": f"all[{quoted}] == {quoted}", "all": True, "sort": text}},
        {"let": {"names": fields, "m": f"{{{quoted}: {quoted} in o}}"}},
        {"require": f"o[{quoted}] != {quoted} or true", "else": failure | {"body": fields}, "rule": text},
        {"set": {f"o[{quoted}]": fields}},
        {"flag": quoted},
        {"add": {"in": text, "id": f"{quoted} + '2'", "attrs": fields}},
        {"return": fields, "rule": text, "note": text},
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_an_author_wrote_is_in_the_code(text):
    plan = parse_plan(hostile_plan(text), origin="authored")
    code = emitted(plan.steps)
    assert isinstance(code, FunctionType)
    held = set(held_by(code.__code__))
    strings = {constant for constant in held if isinstance(constant, str)}
    assert all(re.fullmatch(r"[vtk]\d+", one) or one in OWN_WORDS for one in strings), strings
    assert {type(constant) for constant in held} <= {str, int, bool, type(None)}
    world = World.from_initial_state({text: {text: {text: text, "items": [1]}}})
    ended, *_ = both(plan, {}, Ledger(world))
    assert ended == 200


#: All that emitted code says in words.
OWN_WORDS = {
    "plan", "<plan>", "call", "at", "names", "stopped", "steps_left", "spend", "arguments", "moment", "now",
    "get", "append", "extend", "update", "entity", "bind", "name", "removed", "resolve", "ledger",
    "__class__", "rule",
}  # fmt: skip


def test_emitted_code_has_no_builtins():
    code = parse_plan([{"return": "len(args.x)"}], origin="authored").code
    assert isinstance(code, FunctionType)
    assert code.__globals__["__builtins__"] == {}


def test_a_plan_too_deep_for_pythons_compiler_is_interpreted():
    loops = " ".join(f"for x{n} in [1]" for n in range(25))
    plan = parse_plan([{"return": f"[x0 {loops}]"}], origin="authored")
    assert emitted(plan.steps) is None
    assert run(plan, {}, Ledger(World({})), MOMENT).response == [1]


def test_a_budget_that_ends_anywhere_ends_both_at_the_same_step():
    plan = parse_plan(
        [
            {"find": {"as": "all", "in": "order", "where": "all.status == 'open'", "all": True}},
            {"for": "n", "in": "[1, 2, 3]", "do": [{"if": "n > 1", "then": [{"let": {"m": "n * 2"}}]}]},
            {"for": "a, b", "in": "[[1, 2], [1]]", "do": [{"let": {"m": "[x for x in [a, b]]"}}]},
        ],
        origin="authored",
    )
    ledger = Ledger(World.from_initial_state({"order": {str(n): {"status": "open"} for n in range(5)}}))
    ends = {both(plan, {}, ledger, budget)[:2] for budget in range(0, 600, 3)}
    assert len(ends) > 6  # each step at least, and the pair that is none
