"""What a plan may cost: whatever it does, it ends after the same steps everywhere, and soon."""

import time
from functools import partial
from typing import Any

import pytest

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.call import Call
from pipelines.core.simulation.emit import Code, emitted
from pipelines.core.simulation.interpret import run_block
from pipelines.core.simulation.language import parse_plan
from pipelines.core.simulation.plan_checker import MAX_PARTS
from pipelines.core.simulation.run_plan import answered
from pipelines.core.simulation.simulator import Moment, SimulatedReply, SimulationFailed
from pipelines.core.simulation.values import LONGEST_S, MAX_STEPS, SLICE
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Refused

MOMENT = Moment(seed="seed", call_number=1, now="2026-11-15T10:30:00Z")
TEXT, WIDE = "x" * 90_000, "ä\U0001f600" * 20_000
NUMBERS = [n / 7 for n in range(20_000)]
RECORDS: list[Json] = [{"a": n / 3, "b": {"c": f"x{n}"}} for n in range(5_000)]
NESTED: Json = [1]
for _ in range(50):
    NESTED = [NESTED]
ARGUMENTS: JsonObject = {
    "t": TEXT, "same": "x" * 90_000, "wide": WIDE, "as": "a" * 29_999, "ab": "a" * 7_000 + "b" + "a" * 7_000,
    "blank": " " * 90_000, "words": "a " * 45_000, "ß": "ß" * 90_000, "narrow": "a" * 90_000,
    "wider": "a" * 89_999 + "\U0001f600", "n": NUMBERS, "ints": list(range(90_000)), "records": RECORDS,
    "map": {f"k{n}": n for n in range(20_000)}, "texts": [f"order-{n}" for n in range(20_000)],
    "longs": ["y" * 20_000 + str(n) for n in range(200)], "alike": [{"a": [1, 2, 3]} for _ in range(3_000)],
    "sum": "1+" * 900 + "1", "broken": "(" * 150, "f": 1.23456, "nested": NESTED, "d": "2026-01-31T10:00:00",
    "dots": "a." * 2_000, "million": [0] * 1_000_000,
}  # fmt: skip
WORLD = World.from_initial_state(
    {
        "order": {f"o-{n}": {"status": "open", "total": n / 4, "user": f"u-{n % 97}"} for n in range(20_000)},
        "big": {
            "b": {"list": list(range(90_000)), "map": ARGUMENTS["map"], "text": TEXT, "n": 0,
                  "rows": [{"id": str(n), "n": n} for n in range(3_000)]}
        },
        "person": {f"sara_{chr(97 + n % 26)}{n}_{n}": {} for n in range(20_000)},
        "empty": {},
    }
)  # fmt: skip
BIG: JsonObject = {"find": {"as": "b", "in": "big", "id": "'b'"}}
ORDER: JsonObject = {"find": {"as": "o", "in": "order", "id": "'o-17'"}}


class Untimed(Call):
    """On a machine where nothing takes any time: what ends a call is its budget."""

    clock = staticmethod(lambda: 0.0)


def again(*steps: JsonObject, before: JsonObject | None = None) -> list[Json]:
    loop: JsonObject = {"for": "i", "in": "range(99999)", "do": list(steps)}
    return [before, loop, {"return": "0"}] if before else [loop, {"return": "0"}]


def often(expression: str) -> list[Json]:
    return again({"let": {"x": expression}})


#: Expressions that are cheap to write and dear to evaluate. Each is evaluated until the budget is spent.
DEAR = [
    "args.t + args.t[:9000]", "args.t[1:]", "args.ints[1:]", "args.ints[:9000] + args.ints[:90000]",
    "[*args.ints]", "{**args.map}", "f'{args.records[:500]}'", "f'{args.t[:80000]} {args.f:,.2f}'",
    "args.t == args.same", "args.narrow < args.wider", "args.records == args.records + []",
    "args.nested == [args.nested]", "args.map == merge(args.map)", "args.ab in args.as",
    "'aab' in args.as", "-1 in args.ints", "'z' in args.texts", "args.f ** 0.5 ** args.f",
    "args.f ** 190 + 2 ** i ** 0",
    "log(args.f) + log(args.f, 10)", "sqrt(args.f)", "significant(args.f, 3)", "round(args.f * args.f, 2)",
    "sum(args.n)", "mean(args.n)", "median(args.n)", "stdev(args.n)", "pstdev(args.n)", "min(args.n)",
    "max(args.texts)", "number(args.blank)", "calculate(args.sum)", "calculate(args.broken)",
    "str(args.records[:2000])", "str(args.nested)", "lower(args.wide)", "upper(args.ß[:40000])",
    "title(args.words)",
    "strip(args.blank)", "split(args.words)", "split(args.as, args.ab)", "join(args.n[:3000])",
    "join(args.texts[:5000], '')[:9]",
    "replace(args.words, 'a', 'b')", "replace(args.as, args.ab, '')", "contains(args.wide, 'x')",
    "contains(args.as, args.ab)", "contains(args.texts, 'z')", "contains(args.longs, 'z')",
    "starts_with(args.ß, 'x')", "ends_with(args.wide, 'x')", "like(args.as, '*ab')",
    "like(args.as, '*' + args.as[:9000] + 'b')", "like(args.words, '*a*a*a*z')", "words(args.words)",
    "pad(i, 90000)", "same_id(args.t, args.t)", "any([0] + args.ints[:1] + [0])", "all(args.ints)",
    "sort(args.n)", "sort(args.texts)", "sort(args.longs)", "sort(args.records, 'b.c')",
    "sort(args.records, args.dots)", "top(args.records, 'a', 3)", "unique(args.n)", "unique(args.alike)",
    "unique(args.longs)", "flatten([args.ints])", "zip(args.ints, args.ints)", "range(90000)",
    "enumerate(args.ints)", "reversed(args.ints)", "find(args.records, 'b.c', 'z')",
    "find(args.records, args.dots, 'z')", "index_of(args.ints, -1)", "count(args.n, 5)", "keys(args.map)",
    "values(args.map)", "items(args.map)", "pick(args.map, args.texts)", "without(args.map, 'z')",
    "merge(args.map, args.map)", "[x for x in args.ints]", "{x for x in args.ints}",
    "{str(x): x for x in args.n}", "any(x < 0 for x in args.ints)", "first(x for x in args.ints if x < 0)",
    "[x for x in args.n for y in args.n]", "all(x == y for x in args.n for y in args.n)",
    "days_between(args.d, '2026-07-01')", "add_months(args.d, 2)", "format_date(args.d, args.t[:200])",
    "exists('order', args.t[:2000])", "exists('order', 'zzz')", "entities('order')", "ids('order')",
    "new_id('person')", "uuid()", "token(64)", "random_int(1, 6)", "{args.t + str(i): 1}",
]  # fmt: skip

PLANS: dict[str, list[Json]] = {
    "a loop in a loop in a loop": again(
        {
            "for": "j",
            "in": "range(9)",
            "do": [{"for": "k", "in": "range(9)", "do": [{"let": {"x": "i * j * k"}}]}],
        }
    ),
    "hundreds of nodes a round": again({"let": {"x": "[" + "i, " * 300 + "i]"}}),
    "a text doubled": [
        {"let": {"x": "'a'"}},
        *again({"let": {"x": "x + x if len(x) < 50000 else 'a'"}}),
    ],
    "a list doubled": [{"let": {"x": "[1]"}}, *again({"let": {"x": "x + x if len(x) < 50000 else [1]"}})],
    "a tree of one list": [
        {"let": {"x": "[1]"}},
        {"for": "i", "in": "range(60)", "do": [{"let": {"x": "[x, x]"}}]},
        {"return": "[x] == [x + []]"},
    ],
    "a tree of one list as text": [
        {"let": {"x": "[1]"}},
        {"for": "i", "in": "range(30)", "do": [{"let": {"x": "[x, x]"}}]},
        *again({"let": {"y": "str(x" + "[0]" * 20 + ")"}}),
    ],
    "entities found in every round": again(
        {"find": {"as": "x", "in": "order", "where": "x.total < 0", "all": True}}
    ),
    "entities sorted in every round": again(
        {"find": {"as": "x", "in": "order", "all": True, "sort": ["-total", "user"]}}
    ),
    "ids in other spellings": again({"find": {"as": "x", "in": "order", "id": "args.texts", "all": True}}),
    "a search inside an entity": again(
        {"find": {"as": "r", "in": "b.rows", "where": "r.n == -1", "optional": True}}, before=BIG
    ),
    "an id inside an entity": again(
        {"find": {"as": "r", "in": "b.rows", "id": "'z'", "optional": True}}, before=BIG
    ),
    "one element of a long list changed": again({"set": {"b.list[0]": "i"}}, before=BIG),
    "one entry of a large mapping changed": again({"set": {"b.map.k0": "i"}}, before=BIG),
    "a long list that grows": again({"append": {"b.list": "i"}}, before=BIG),
    "a large value set": again({"set": {"o.n": "args.records"}}, before=ORDER),
    "a change before every search": again(
        {"set": {"b.list[89999]": "i"}},
        {"find": {"as": "x", "in": "big", "where": "x.n == 1", "optional": True}},
        before=BIG,
    ),
    "many entities changed, then searched": again(
        {"add": {"in": "order", "id": "str(i)", "attrs": {"user": "'u-3'"}}},
        {"find": {"as": "x", "in": "order", "where": "x.user == 'u-3'", "all": True}},
    ),
    "many entities added, then looked for": again(
        {"add": {"in": "empty", "id": "pad(i, 1000)", "attrs": {}}}, {"let": {"x": "exists('empty', 'zzz')"}}
    ),
    "ids drawn after ids": again({"add": {"in": "person", "attrs": {}}}),
    "every element removed in turn": [
        BIG,
        {"for": "r", "in": "b.rows", "do": [{"remove": "r"}]},
        {"return": "0"},
    ],
    "a place ever deeper": [
        ORDER,
        {"let": {"p": "o.x"}},
        *again({"let": {"p": "p.b"}}, {"set": {"p.z": "1"}}),
    ],
    "flags": again({"flag": "f'f{i}'"}),
}
PLANS |= {expression: often(expression) for expression in DEAR}


def ended(code: Code, kind: type[Call] = Untimed, budget: int = MAX_STEPS) -> tuple[str, int, float]:
    """The code of the error, what was left of the budget, and the processor's time."""
    call = kind(ARGUMENTS, Ledger(WORLD), MOMENT)
    call.allow(budget)
    before = time.thread_time()
    with pytest.raises(SimulationFailed) as failed:
        answered(code, call)
    return failed.value.code, call.left, time.thread_time() - before


LOOP_S = 0.0065  # what `loop_s` takes on the machine that the budget was measured on


def loop_s() -> float:
    """How fast Python is here and now: the processor's time for a loop that is always the same."""
    before, total = time.thread_time(), 0
    for at in range(200_000):
        total += at
    return time.thread_time() - before


@pytest.mark.parametrize("name", PLANS)
def test_a_hostile_plan_ends_with_its_budget_and_soon(name):
    plan = parse_plan(PLANS[name], origin="authored")
    code = emitted(plan.steps)
    assert code is not None
    # A fifth of the budget and of the time says the same of the many single expressions.
    share = 5 if name in DEAR else 1
    most_s = LONGEST_S / share + 0.02  # one value too many may be looked at before the end
    tries = []
    while not tries or (tries[-1] > most_s and len(tries) < 4):  # other tests may have the processor too
        slowness = max(1.0, loop_s() / LOOP_S)  # of this machine, at this moment
        found, left, took_s = ended(code, budget=MAX_STEPS // share)
        assert (found, left < 0) == ("plan_budget", True)
        tries.append(took_s / slowness)
    assert min(tries) < most_s, tries


@pytest.mark.parametrize("name", [name for name in PLANS if name not in DEAR])
def test_the_interpreter_ends_it_at_the_same_unit(name):
    plan = parse_plan(PLANS[name], origin="authored")
    code = emitted(plan.steps)
    assert code is not None
    assert ended(partial(run_block, plan.steps))[:2] == ended(code)[:2]


@pytest.mark.parametrize(
    "expression",
    ["args.million + args.million", "[*args.million]", "args.million[1:]", "enumerate(args.million)",
     "zip(args.million, args.million)", "reversed(args.million)", "flatten([args.million])"],
)  # fmt: skip
def test_what_would_be_too_long_is_not_made_first(expression):
    code, _, took_s = ended(parse_plan([{"return": expression}], origin="authored").code)
    assert code in ("plan_too_large", "plan_budget")
    assert took_s < 0.05


# -- the clock


class Slow(Call):
    """A machine on which every look at the clock comes a tenth of a second after the one before."""

    ticks = 0

    @staticmethod
    def clock() -> float:
        Slow.ticks += 1
        return Slow.ticks / 10

    busy = clock


class Waiting(Slow):
    """Likewise, but the time goes by while other programs have the processor."""

    busy = staticmethod(lambda: 0.0)


def test_a_plan_that_is_too_slow_is_told_from_one_that_does_too_much():
    code = parse_plan(often("i"), origin="authored").code
    call = Slow(ARGUMENTS, Ledger(WORLD), MOMENT)
    with pytest.raises(SimulationFailed, match="150 ms on this machine") as failed:
        answered(code, call)
    assert failed.value.code == "plan_time"
    assert call.left > 0


def test_time_that_others_had_does_not_count():
    assert ended(parse_plan(often("i"), origin="authored").code, Waiting)[0] == "plan_budget"


def test_an_ordinary_call_never_looks_at_the_clock():
    before = Slow.ticks
    call = Slow({}, Ledger(WORLD), MOMENT)
    answered(parse_plan([ORDER, {"return": "o"}], origin="authored").code, call)
    assert Slow.ticks == before
    assert MAX_STEPS - call.left < SLICE / 100


# -- what fits


def run(body: list[Json], world: World, arguments: JsonObject) -> SimulatedReply:
    return answered(parse_plan(body, origin="authored").code, Untimed(arguments, Ledger(world), MOMENT))


def test_a_search_through_ninety_thousand_entities_fits():
    world = World.from_initial_state({"item": {str(n): {"price": n} for n in range(90_000)}})
    find: JsonObject = {"find": {"as": "x", "in": "item", "where": "x.price > args.most", "all": True}}
    assert run([find, {"return": "len(x)"}], world, {"most": 89_990}).response == 9


def test_twenty_thousand_prices_are_added_up_and_a_reply_of_a_megabyte_is_given():
    lines: Any = [{"price": n / 100, "quantity": 2} for n in range(10_000)]
    reply = run([{"return": "sum(x.price * x.quantity for x in args.lines)"}], World({}), {"lines": lines})
    assert reply.response == 999_900.0
    assert run([{"return": "args.lines"}], World({}), {"lines": lines[:9_000]}).response == lines[:9_000]


# -- how large a plan may be


@pytest.mark.parametrize(
    "body",
    [
        [{"return": {f"k{n}": "args.a" for n in range(20_000)}}],
        [{"let": {f"x{n}": "args.a" for n in range(5_000)}}],
        [{"return": ["sum(range(300))"] * 3_000}],
        [{"fail": {"error": "no", "message": "{args.a}" * 5_000}}],
        [{"let": {f"name{n}": "1" for n in range(300)}}, {"return": [f"namee{n}x" for n in range(900)]}],
        [{"return": ["a.if " * 700] * 50}],
        [{"unset": ["a.b"] * 5_000}],
        {"steps": [], **{f"key{n}": 1 for n in range(20_000)}},
    ],
    ids=lambda body: str(body)[:30],
)
def test_a_plan_too_large_to_be_read_soon_is_refused_soon(body):
    before = time.thread_time()
    with pytest.raises(Refused) as refused:
        parse_plan(body, origin="authored")
    assert time.thread_time() - before < 1  # some 0.1 s on a machine with nothing else to do
    assert len(refused.value.problems) <= 51


def test_the_largest_plan_is_checked_and_compiled_in_time():
    body: Json = [{"let": {f"x{n}": "args.a + 2"}} for n in range(MAX_PARTS // 8)][:499]
    before = time.thread_time()
    assert emitted(parse_plan(body, origin="authored").steps) is not None
    assert time.thread_time() - before < 1
