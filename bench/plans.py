"""What plans cost: running one of each kind, and reading a schema of a hundred tools.

    python bench/plans.py [--json]

The reference in the same run is a plain Python function that does by hand what the plan says.
"""

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

from pipelines.core.ledger import Ledger, Update, World
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.language import parse_plan
from pipelines.core.simulation.run_plan import run
from pipelines.core.simulation.simulator import Moment
from pipelines.core.tools_schema import parse_tools_schema

CALLS = 2_000
ROUNDS = 5
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


def filter_by_hand(ledger: Ledger) -> Any:
    return [item for _, item in ledger.entities("item") if item["stock"] > 0 and item["price"] <= 20]  # type: ignore[operator]


def timed(call: Callable[[], Any]) -> float:
    call()
    started = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - started) / CALLS * 1e6


def running() -> dict[str, Any]:
    ledger = Ledger(world())
    cases: dict[str, tuple[Any, dict[str, Any], Callable[[Ledger], Any]]] = {
        "get by id": (GET, {"order_id": "7"}, get_by_hand),
        "guarded change with a sum": (CANCEL, {"order_id": "7"}, cancel_by_hand),
        "filter 25 entities": (FILTER, {"max": 20}, filter_by_hand),
    }
    found = {}
    for name, (body, arguments, by_hand) in cases.items():
        plan = parse_plan(body, origin="authored")
        assert run(plan, arguments, ledger, MOMENT).status == 200
        plans, hands = [], []
        for _ in range(ROUNDS):
            plans.append(timed(lambda plan=plan, arguments=arguments: run(plan, arguments, ledger, MOMENT)))  # type: ignore[misc]
            hands.append(timed(lambda by_hand=by_hand: by_hand(ledger)))  # type: ignore[misc]
        found[name] = {
            "plan_us": round(statistics.median(plans), 1),
            "by_hand_us": round(statistics.median(hands), 1),
            "ratio": round(statistics.median(a / b for a, b in zip(plans, hands, strict=True)), 1),
        }
    return found


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
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        simulator = build_simulator(tools, world=seeded)
        assert sum(plan.plan is not None for plan in simulator.plans.values()) > 0
        times.append(time.perf_counter() - started)
    return {"tools": len(tools), "seconds": round(statistics.median(times), 3)}


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
        print(f"{name}: {figures['plan_us']} µs, {figures['ratio']} x the same by hand")
    print(f"reading {report['reading']['tools']} tools: {report['reading']['seconds']} s")


if __name__ == "__main__":
    main()
