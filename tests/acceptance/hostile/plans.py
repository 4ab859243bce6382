"""H1: plans that loop, make large values of small ones, sort and join; and patterns that backtrack."""

import json
from typing import Any

from hostile.kind import kind
from hostile.tenant import Row, Tenant, tool

LIST = "range(90000)"
WORLD: Row = {
    "order": {str(at): {"n": at, "text": "a" * 30, "items": [at] * 5} for at in range(3_000)},
    "user": {str(at): {"name": f"user {at}"} for at in range(3_000)},
}


def _doubling(first: str, step: str, times: int) -> list[Row]:
    return [{"let": {"x": first}}, *[{"let": {"x": step}}] * times, {"return": "len(x)"}]


def _loop(do: list[Row], over: str = LIST) -> list[Row]:
    return [{"let": {"x": "[]", "s": "'a'"}}, {"for": "i", "in": over, "do": do}, {"return": "len(x)"}]


def _nested(levels: int, do: Any) -> list[Row]:
    steps: list[Row] = [do]
    for at in range(levels):
        steps = [{"for": f"i{at}", "in": "range(300)", "do": steps}]
    return [{"let": {"x": "0"}}, *steps, {"return": "x"}]


PLANS: dict[str, list[Row]] = {
    "lists that double": _doubling("[1]", "[*x, *x]", 17),
    "texts that double": _doubling("'ab'", "x + x", 17),
    "lists joined in a loop": _loop([{"let": {"x": "[*x, i]"}}]),
    "a long list made anew in a loop": _loop([{"let": {"x": "range(90000)"}}], "range(90000)"),
    "a long text made anew in a loop": _loop([{"let": {"s": "pad('a', 90000)"}}], "range(90000)"),
    "sorted in a loop": _loop([{"let": {"x": "sort(range(50000))"}}], "range(5000)"),
    "reversed and unique in a loop": _loop([{"let": {"x": "unique(reversed(range(50000)))"}}], "range(5000)"),
    "joined in a loop": _loop([{"let": {"s": "join(range(20000), '')"}}], "range(5000)"),
    "split in a loop": _loop([{"let": {"x": "split(pad('a', 90000), 'a')"}}], "range(5000)"),
    "replaced in a loop": _loop(
        [{"let": {"s": "replace(pad('a', 9000), '0', '0000000000')"}}], "range(5000)"
    ),
    "like": [{"return": "like(pad('b', 90000, 'a'), '*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*c')"}],
    "like in a loop": _loop([{"let": {"b": "like(pad('b', 9000, 'a'), '*a*a*a*a*c')"}}], "range(9000)"),
    "rounds in rounds": _nested(3, {"let": {"x": "x + 1"}}),
    "comprehensions in comprehensions": [
        {"return": "len([1 for a in range(300) for b in range(300) for c in range(300)])"}
    ],
    "a comprehension over a product": [{"return": "sum(len(range(90000)) for a in range(90000))"}],
    "large powers": _loop([{"let": {"s": "9.9 ** 299"}}], "range(90000)"),
    "large numbers": _loop([{"let": {"s": "str((10 ** 59) * 9 // 7 % (10 ** 30))"}}], "range(90000)"),
    "square roots": _loop([{"let": {"s": "sqrt(2) + log(3) + stdev(range(2000))"}}], "range(5000)"),
    "calculators": _loop([{"let": {"s": "calculate('(' * 1 + '1+' * 1 + '1)')"}}], "range(90000)"),
    "a long calculation": [{"return": "calculate(join([1 for a in range(40000)], '+'))"}],
    "deep calculation": [{"return": "calculate(replace(pad('1', 40000, '('), '0', '('))"}],
    "dates": _loop(
        [{"let": {"s": "format_date(add_months('2026-01-31', i % 999), '%A %B %d')"}}], "range(30000)"
    ),
    "words": _loop([{"let": {"x": "words(replace(pad('a', 40000, 'b'), 'bb', 'b '))"}}], "range(2000)"),
    "every entity in a loop": _loop([{"let": {"x": "entities('order')"}}], "range(90000)"),
    "a join of two types": [
        {"return": "len([1 for o in entities('order') for u in entities('user') if same_id(o.n, u.name)])"}
    ],
    "found in a loop": _loop(
        [
            {
                "find": {
                    "as": "o",
                    "in": "order",
                    "where": "contains(o.text, 'b')",
                    "all": True,
                    "sort": "-text",
                }
            }
        ],
        "range(900)",
    ),
    "nobody by id": _loop([{"let": {"x": "[entity('order', f'#00{i}x')]"}}], "range(90000)"),
    "appended in a loop": [
        {"find": {"as": "o", "in": "order", "id": "'1'"}},
        {"for": "i", "in": "range(50000)", "do": [{"append": {"o.items": "pad('x', 20)"}}]},
        {"return": "1"},
    ],
    "set in a loop": [
        {"for": "o", "in": "entities('order')", "do": [{"set": {"o.text": "pad('x', 90000)"}}]},
        {"return": "1"},
    ],
    "added in a loop": [
        {"for": "i", "in": "range(30000)", "do": [{"add": {"in": "thing", "attrs": {"n": "i"}, "as": "t"}}]},
        {"return": "1"},
    ],
    "ids in a loop": _loop([{"let": {"s": "uuid() + token(5000) + new_id('order')"}}], "range(20000)"),
    "a large reply": [
        {"return": {"x": "range(90000)", "y": "range(90000)", "z": "[pad(1, 40) for a in range(9000)]"}}
    ],
    "merged in a loop": _loop(
        [{"let": {"m": "merge({str(j): j for j in range(2000)}, {'a': i})"}}], "range(5000)"
    ),
    "compared in a loop": _loop([{"let": {"b": "range(50000) == range(50000)"}}], "range(5000)"),
    "looked for in a loop": _loop(
        [{"let": {"b": "89999 in range(90000) or index_of(range(90000), 89999)"}}], "range(5000)"
    ),
    "flattened in a loop": _loop([{"let": {"x": "flatten(zip(range(50000), range(50000)))"}}], "range(2000)"),
    "counted in a loop": _loop(
        [{"let": {"b": "count([pad(1, 5000) for j in range(20)], pad(1, 5000))"}}], "range(5000)"
    ),
}


@kind("H1-plans", seconds=1.5)
def costly_plans(tenant: Tenant) -> None:
    """Each plan, called once; several runs at once in the long form."""
    task = tenant.tasks({"user": "x", "state": WORLD})["task_ids"][0]

    def attack(item: tuple[str, list[Row]]) -> None:
        name, plan = item
        reply = tenant.post("/api/agents", _agent(plan), what=f"save {name}")
        if reply.status == 201:
            tenant.run(reply.json()["id"], task).call("t", {}, what=f"call {name}")

    first = ("appended in a loop", "joined in a loop", "large numbers", "added in a loop", "like")
    tenant.together(attack, tenant.shuffled(PLANS, *first), at_once=tenant.size(2, 4))


def _agent(plan: Any) -> Row:
    endpoint = "http://127.0.0.1:9/dispatch"
    return {
        "name": "plans",
        "endpoint_url": endpoint,
        "tools_schema": [tool("t", {"x": {}}, simulation=plan)],
    }


@kind("H1-arguments", seconds=0.8)
def plans_over_arguments(tenant: Tenant) -> None:
    """Short plans over a megabyte of the caller's own."""
    expressions = [
        "sort(args.x)", "unique(args.x)", "join(args.x, args.x[0])",
        "len([1 for a in args.x for b in args.x if a == b])", "count(args.x, args.x[0])",
        "flatten(args.x)", "[*args.x, *args.x]", "str(args.x)", "contains(str(args.x), args.x[0])",
        "like(join(args.x, ''), '*1*1*1*1*1*2')", "sum(args.x)", "stdev(args.x)", "median(args.x)",
        "calculate(join(args.x, '+'))", "words(join(args.x, ' '))", "args.x == args.x", "max(args.x)",
        "[a in args.x for a in args.x]", "zip(args.x, args.x)", "title(join(args.x, 'ß'))",
        "number(join(args.x, ''))", "find(args.x, 'a', 1)",
        "replace(join(args.x, ''), '1', join(args.x, ''))",
    ]  # fmt: skip
    values: dict[str, Any] = {
        "numbers": [tenant.chance.randrange(10**6) for _ in range(90_000)],
        "texts": ["1" * 9 for _ in range(80_000)],
        "objects": [{"a": at} for at in range(60_000)],
        "a number of many digits": [int("9" * 4_000)],
        "a long text": ["1" * 900_000],
    }
    tools = [
        tool(f"t{at}", {"x": {}}, simulation=[{"return": {"x": each}}]) for at, each in enumerate(expressions)
    ]
    run = tenant.run_of(tools)
    bodies = {name: json.dumps({"x": value}).encode() for name, value in values.items()}
    pairs = {f"{each} of {name}": (at, name) for at, each in enumerate(expressions) for name in values}
    for what, (at, name) in tenant.in_turn(pairs, "zip(args.x, args.x) of texts"):
        run.call(f"t{at}", bodies[name], what=what)


@kind("H1-patterns")
def patterns(tenant: Tenant) -> None:
    """Patterns that backtrack, in every place that takes one."""
    bad = [
        "(a+)+$",
        "^(a|aa)+$",
        "(a|a?)+b",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "(.*)*x",
        "(?:a*)*b",
        "([a-zA-Z]+)*$",
        "a{1,5000}a{1,5000}b",
        "^(.*a){20}$",
    ]
    text = "a" * 40_000 + "!"
    for at, pattern in tenant.in_turn({str(at): pattern for at, pattern in enumerate(bad)}):
        reply = tenant.post("/api/agents", {
            "name": "patterns", "endpoint_url": "http://127.0.0.1:9/dispatch",
            "tools_schema": [tool("t", {"x": {"type": "string", "pattern": pattern}})],
        }, what=f"declare pattern {at}")  # fmt: skip
        task: Row = {
            "user": "x",
            "expected_calls": {"must": [{"tool": "*", "arguments": {"x": {"$regex": pattern}}}]},
            "tracked_constraints": [
                {"id": "c", "description": "c", "check": {"responses": {"$regex": pattern}}}
            ],
        }
        uploaded = tenant.post("/api/datasets", {"name": "p", "rows": [task]}, what=f"expect pattern {at}")
        if reply.status == 201 == uploaded.status:
            run = tenant.run(reply.json()["id"], uploaded.json()["task_ids"][0])
            run.call("t", {"x": text}, what=f"a call against {pattern}")
            run.finish(text, what=f"finish against {pattern}")


@kind("H1-plan-texts")
def plan_texts(tenant: Tenant) -> None:
    """Plans that are costly to read: long, deep, wrong everywhere, and as YAML."""
    agent_id = tenant.agent([tool("t", {"x": {}})])
    path = f"/api/agents/{agent_id}/plans/check"
    long = "+".join(["args.x"] * 600)
    shapes: dict[str, Row] = {
        "many steps": {"plans": {"t": [{"let": {"a": "1"}}] * 20_000}},
        "many unknown verbs": {"plans": {"t": [{"lett": {"a": "1"}}] * 20_000}},
        "many unknown names": {
            "plans": {"t": [{"let": {f"abcdefgh{at}": f"abcdefgg{at} + rnage(1)"}} for at in range(10_000)]}
        },
        "long expressions": {"plans": {"t": [{"let": {"a": long}}] * 240}},
        "deep expressions": {"plans": {"t": [{"return": "(" * 1_900 + "1" + ")" * 1_900}] * 200}},
        "powers": {"plans": {"t": [{"return": "9 ** 9 ** 9 ** 9"}, {"return": "'a' * 10 ** 9"}]}},
        "many unknown tools": {"plans": {f"tool_{at}": [{"return": "1"}] for at in range(20_000)}},
        "yaml: many lines": {"text": "t:\n" + "  - let: {a: 1}\n" * 60_000},
        "yaml: flow": {"text": "t: [" + "{return: 1}, " * 70_000 + "]"},
        "yaml: deep": {"text": "t: " + "[" * 20_000},
        "yaml: deep blocks": {"text": "\n".join(" " * at + "a:" for at in range(1_200))},
        "yaml: a long text": {"text": 't: "' + "\\u0041" * 160_000 + '"'},
        "yaml: aliases": {
            "text": "a: &a [x,x]\n" + "\n".join(f"b{at}: &b{at} [*a, *a]" for at in range(20_000))
        },
        "yaml: many keys": {"text": "".join(f"k{at}: 1\n" for at in range(80_000))},
    }
    tenant.together(
        lambda item: tenant.post(path, item[1], what=f"check {item[0]}"),
        tenant.shuffled(shapes, "yaml: many keys", "yaml: deep blocks"),
        at_once=2,
    )
