"""What of a model call is ours: building the question and checking the answer, at 1,000 records and 50 calls.

    python bench/model_simulator.py [--json] [--rounds 200]

Beside it in the same run, a call that a plan answers: it asks nobody. The bound is 10 ms.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path
from time import thread_time
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "core" / "simulation"))

from asked_model import Desk, checked

BOUND_MS = 10.0
RECORDS, CALLS = 1_000, 50
ORDER_ID = {"type": "object", "properties": {"order_id": {"type": "string"}, "reason": {"type": "string"}}}
TOOLS = [
    {"name": "return_order", "description": "Return an order.", "input_schema": ORDER_ID},
    {"name": "get_order", "description": "Get an order by its id.", "input_schema": ORDER_ID},
]
RULES = "\n".join(
    f"return_order refuses what the clerk of branch {n} finds strange on that day." for n in range(60)
)


def state() -> dict[str, Any]:
    orders = {
        f"o-{n}": {
            "user_id": f"u-{n % 200}",
            "status": "shipped",
            "total": n * 1.5,
            "items": [{"sku": f"s-{n + k}", "price": 9.5, "quantity": 1} for k in range(3)],
            "note": f"left at door {n}, call before noon",
        }
        for n in range(RECORDS - 200)
    }
    users = {f"u-{n}": {"name": f"Person {n}", "email": f"p{n}@example.com"} for n in range(200)}
    return {"order": orders, "user": users}


def answer(id: str) -> dict[str, Any]:
    update = {"op": "update", "entity_type": "order", "id": id, "set": {"status": "returned"}, "unset": []}
    return {
        "reason": "",
        "status": 200,
        "response": {"order_id": id, "status": "returned"},
        "updates": [update],
    }


def measure(rounds: int) -> dict[str, float]:
    by_model, by_plan = Desk(TOOLS, state(), RULES), Desk(TOOLS, state(), wants="embedded")
    for number in range(CALLS):
        by_model.play(
            "return_order",
            {"order_id": f"o-{number}", "reason": "too small"},
            lambda q, n=number: answer(f"o-{n}"),
        )
    asked: list[float] = []
    checks: list[float] = []
    planned: list[float] = []
    for number in range(rounds):
        id = f"o-{100 + number % 600}"
        began = thread_time()
        call = by_model.question("return_order", {"order_id": id, "reason": "left at the door"})
        call.question.key("scripted:bench")
        built = thread_time()
        assert not checked(call, answer(id))
        done = thread_time()
        by_plan._asked("get_order", {"order_id": id})
        asked.append(built - began)
        checks.append(done - built)
        planned.append(thread_time() - done)
    both = [one + other for one, other in zip(asked, checks, strict=True)]
    size = len(call.question.messages[0].content) + len(call.question.system)
    return {
        "question_ms": 1000 * statistics.median(asked),
        "checks_ms": 1000 * statistics.median(checks),
        "both_ms": 1000 * statistics.median(both),
        "both_p95_ms": 1000 * statistics.quantiles(both, n=20)[-1],
        "a_plan_ms": 1000 * statistics.median(planned),
        "characters": size,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    found = measure(options.rounds)
    if options.json:
        print(json.dumps(found))
    else:
        print(f"{RECORDS} records, {CALLS} calls, {found['characters']} characters")
        print(f"  question {found['question_ms']:.2f} ms, checks {found['checks_ms']:.2f} ms,")
        print(f"  both {found['both_ms']:.2f} ms (p95 {found['both_p95_ms']:.2f}); bound {BOUND_MS:g} ms")
        print(f"  a plan answers in {found['a_plan_ms']:.3f} ms")
    sys.exit(0 if found["both_ms"] <= BOUND_MS else 1)


if __name__ == "__main__":
    main()
