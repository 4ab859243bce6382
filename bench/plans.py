"""What plans cost: running one of each kind, and reading a schema of a hundred tools.

    python bench/plans.py [--json]

The references in the same run are the interpreter, and a plain Python function that does by hand what the
plan says. All three take turns: a machine that is busy for a while is busy for each of them.
"""

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from pipelines.core.ledger.ledger import Ledger, Update, World
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.emit import emitted
from pipelines.core.simulation.language import parse_plan
from pipelines.core.simulation.reply_check import contradictions
from pipelines.core.simulation.run_plan import interpret, run
from pipelines.core.simulation.simulator import Moment
from pipelines.core.tools.tools_schema import parse_tools_schema

CALLS = 100  # in one go: short enough that some goes are not interrupted
ROUNDS = 200
READINGS = 5
NOUNS = ("order", "user", "ticket", "product", "invoice", "shipment", "flight", "booking", "note", "room")
VERBS = ("get", "list", "search", "create", "update", "delete", "cancel", "find", "close", "count")
MOMENT = Moment(seed="bench", call_number=1, now="2026-05-01T12:00:00Z")

GET = [{"find": {"as": "order", "in": "order", "id": "args.order_id"}}, {"return": "order"}]
CANCEL = [
    {"find": {"as": "order", "in": "order", "id": "args.order_id"}},
    {
        "require": "order.status == 'pending'",
        "else": {"status": 409, "error": "not_pending", "message": "no"},
    },
    {"let": {"total": "sum(item.price * item.quantity for item in order.items)"}},
    {"set": {"order.status": "'cancelled'", "order.refund": "round(total * 1.08, 2)"}},
    {"return": "order"},
]
CHANGE = [
    {"find": {"as": "order", "in": "order", "id": "args.order_id"}},
    {
        "require": "order.status == 'pending'",
        "else": {"status": 409, "error": "not_pending", "message": "no"},
    },
    {"set": {"order.status": "'cancelled'", "order.reason": "args.reason"}},
    {"return": "order"},
]
FILTER = [
    {"find": {"as": "hits", "in": "item", "where": "hits.stock > 0 and hits.price <= args.max", "all": True}},
    {"return": "hits"},
]


def world() -> World:
    items = [{"price": 12.5, "quantity": 2}, {"price": 3.99, "quantity": 1}, {"price": 100, "quantity": 1}]
    return World.from_initial_state(
        {
            "order": {str(n): {"status": "pending", "user_id": "u-1", "items": items} for n in range(1_000)},
            "item": {f"sku-{n}": {"name": f"Item {n}", "stock": n % 3, "price": n} for n in range(25)},
        }
    )


def get_by_hand(ledger: Ledger) -> Any:
    return {**(ledger.get("order", "7") or {}), "id": "7"}


def cancel_by_hand(ledger: Ledger) -> Any:
    order: Any = ledger.get("order", "7")
    assert order["status"] == "pending"
    total = sum(item["price"] * item["quantity"] for item in order["items"])
    draft = ledger.draft()
    changed = {"status": "cancelled", "refund": round(total * 1.08, 2)}
    draft.apply([Update(entity_type="order", id="7", set=changed)])
    return draft.get("order", "7")


def change_by_hand(ledger: Ledger) -> Any:
    order: Any = ledger.get("order", "7")
    assert order["status"] == "pending"
    draft = ledger.draft()
    draft.apply([Update(entity_type="order", id="7", set={"status": "cancelled", "reason": "late"})])
    return draft.get("order", "7")


def filter_by_hand(ledger: Ledger) -> Any:
    return [item for _, item in ledger.entities("item") if item["stock"] > 0 and item["price"] <= 20]  # type: ignore[operator]


def timed(call: Callable[[], Any], calls: int = CALLS) -> float:
    started = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - started) / calls * 1e6


CASES: dict[str, tuple[Any, dict[str, Any], Callable[[Ledger], Any]]] = {
    "get by id": (GET, {"order_id": "7"}, get_by_hand),
    "guarded change": (CHANGE, {"order_id": "7", "reason": "late"}, change_by_hand),
    "guarded change with a sum": (CANCEL, {"order_id": "7"}, cancel_by_hand),
    "filter 25 entities": (FILTER, {"max": 20}, filter_by_hand),
}


def running() -> dict[str, Any]:
    ledger = Ledger(world())
    found = {}
    for name, (body, arguments, by_hand) in CASES.items():
        plan = parse_plan(body, origin="authored")
        assert run(plan, arguments, ledger, MOMENT) == interpret(plan, arguments, ledger, MOMENT)
        ways: dict[str, Callable[[], Any]] = {
            "emitted": partial(run, plan, arguments, ledger, MOMENT),
            "interpreted": partial(interpret, plan, arguments, ledger, MOMENT),
            "by_hand": partial(by_hand, ledger),
            "answer_and_check": answered_and_checked(body, ledger, arguments),
        }
        times: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(ROUNDS):
            for way, call in ways.items():
                times[way].append(timed(call))
        found[name] = {f"{way}_us": round(min(of_way), 2) for way, of_way in times.items()}
        found[name] |= {
            "faster": ratio(times["interpreted"], times["emitted"]),
            "by_hand_ratio": ratio(times["emitted"], times["by_hand"]),
            "check_ms": round(
                min(timed(partial(parse_plan, body, origin="authored"), 5) for _ in range(40)) / 1e3, 2
            ),
            "emit_ms": round(min(timed(partial(emitted, plan.steps), 5) for _ in range(40)) / 1e3, 2),
        }
    return found


def ratio(slow: list[float], fast: list[float]) -> float:
    """Of goes that stood side by side."""
    return round(statistics.median(a / b for a, b in zip(slow, fast, strict=True)), 1)


def answered_and_checked(body: Any, ledger: Ledger, arguments: dict[str, Any]) -> Callable[[], Any]:
    """What a tool call costs in here: the simulator's answer, and the look whether it fits the ledger."""
    tool = {"name": "tool", "description": "", "input_schema": {"type": "object"}, "simulation": body}
    simulator = build_simulator(parse_tools_schema([tool]), world=ledger.world)

    def call() -> Any:
        reply, after = simulator.answer("tool", arguments, ledger, MOMENT), ledger
        if reply.updates:
            after = ledger.draft()
            after.apply(reply.updates)
        return contradictions(reply.response, after, reply.computed)

    return call


def reading() -> dict[str, Any]:
    tools = parse_tools_schema(
        [
            {
                "name": f"{verb}_{noun}",
                "description": f"{verb.capitalize()} the {noun}.",
                "input_schema": {
                    "type": "object",
                    "properties": {f"{noun}_id": {"type": "string"}, "status": {"type": "string"}},
                },
            }
            for verb in VERBS
            for noun in NOUNS
        ]
    )
    seeded = World.from_initial_state(
        {
            noun: {f"{noun[0]}-{n}": {"status": "open", "name": f"{noun} {n}"} for n in range(100)}
            for noun in NOUNS
        }
    )
    times, emitting = [], []
    for _ in range(READINGS):
        started = time.perf_counter()
        simulator = build_simulator(tools, world=seeded)
        assert sum(plan.plan is not None for plan in simulator.plans.values()) > 0
        times.append(time.perf_counter() - started)
        plans = [found.plan for found in simulator.plans.values() if found.plan is not None]
        started = time.perf_counter()
        assert all(emitted(plan.steps) is not None for plan in plans)
        emitting.append((time.perf_counter() - started) / len(plans))
    return {
        "tools": len(tools),
        "seconds": round(statistics.median(times), 3),
        "emit_ms_per_tool": round(min(emitting) * 1e3, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    report: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "running": running(),
        "reading": reading(),
    }
    if options.json:
        print(json.dumps(report, indent=2))
        return
    print(report["machine"])
    for name, figures in report["running"].items():
        print(
            f"{name}: emitted {figures['emitted_us']} µs, interpreted {figures['interpreted_us']} µs "
            f"({figures['faster']} x), by hand {figures['by_hand_us']} µs; answered and checked "
            f"{figures['answer_and_check_us']} µs; checking the plan {figures['check_ms']} ms, "
            f"emitting it {figures['emit_ms']} ms"
        )
    read = report["reading"]
    print(
        f"reading {read['tools']} tools: {read['seconds']} s; emitting {read['emit_ms_per_tool']} ms per tool"
    )


if __name__ == "__main__":
    main()
