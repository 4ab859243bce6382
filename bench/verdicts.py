"""What a verdict costs: CPU time of the embedded judge on runs of 100 calls.

    python bench/verdicts.py [--json]

The reference in the same run is parsing the same trace as JSON. Every run differs from the others, so nothing
is remembered from one to the next but what an agent's runs share: its tools and its policy.
"""

import argparse
import json
import random
import statistics
import time
from typing import Any

from pipelines.core.ledger.ledger import Update, World
from pipelines.core.tools.tools_schema import parse_tools_schema
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.judge import judge

RUNS = 100
CALLS = 100
POLICY = "Orders that are shipped cannot be cancelled. A refund takes 5 to 7 days and costs 3 EUR."
_SCHEMA = {"type": "object", "properties": {"order_id": {"type": "string"}}}
TOOLS = parse_tools_schema(
    [
        {"name": name, "description": f"{name.replace('_', ' ').capitalize()}.", "input_schema": _SCHEMA}
        for name in ("get_order", "list_orders", "cancel_order", "refund_order", "send_email")
    ]
)


def orders(chance: random.Random) -> dict[str, dict[str, Any]]:
    return {
        f"W{chance.randrange(10**7):07}": {
            "status": chance.choice(["pending", "shipped", "cancelled"]),
            "amount": round(chance.random() * 300, 2),
            "created_at": f"2026-0{chance.randrange(1, 9)}-1{chance.randrange(9)}T10:30:00Z",
            "items": [
                {
                    "sku": f"S-{chance.randrange(10**4)}",
                    "price": round(chance.random() * 90, 2),
                    "name": "Blue mug",
                }
                for _ in range(3)
            ],
        }
        for _ in range(50)
    }


def run(seed: int) -> RunEvidence:
    chance = random.Random(seed)
    world = orders(chance)
    ids = list(world)
    rows = [_row(number, chance.choice(ids), world) for number in range(1, CALLS + 1)]
    one, other = ids[0], ids[1]
    total = world[one]["amount"] + world[other]["amount"]
    said = (
        f"I've cancelled order {one} as you asked. It was placed on {world[one]['created_at'][:10]}.\n\n"
        f"1. **Order {one}**: ${world[one]['amount']}\n2. **Order {other}** is {world[other]['status']}, "
        f"${world[other]['amount']}\n\nTogether that is ${total:.2f}. Is there anything else?"
    )
    return RunEvidence(
        user_instruction=f"Cancel order {one} and tell me about {other}.",
        behavior_instructions=POLICY,
        expected_calls=["cancel_order"],
        tools=TOOLS,
        world=World.from_initial_state({"order": world}),
        trace=tuple(rows),
        responses=(said,),
    )


def _row(number: int, id: str, world: dict[str, dict[str, Any]]) -> EvidenceRow:
    is_write = number % 10 == 0
    changed = (Update(entity_type="order", id=id, set={"status": "cancelled"}),) if is_write else ()
    return EvidenceRow(
        sequence=number,
        tool_name="cancel_order" if is_write else "get_order",
        arguments={"order_id": id},
        response={"order_id": id, **world[id]} | ({"status": "cancelled"} if is_write else {}),
        source="odyssey",
        http_status=200,
        updates=changed,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    runs = [run(seed) for seed in range(RUNS)]
    texts = [json.dumps([[row.arguments, row.response] for row in each.trace]) for each in runs]
    judged = [_cpu_ms(lambda each=each: judge(each)) for each in runs]  # type: ignore[misc]
    parsed = [_cpu_ms(lambda text=text: json.loads(text)) for text in texts]  # type: ignore[misc]
    figures = {
        "runs": RUNS,
        "calls": CALLS,
        "verdict_ms_median": round(statistics.median(judged), 2),
        "verdict_ms_max": round(max(judged), 2),
        "json_ms_median": round(statistics.median(parsed), 3),
        "ratio": round(statistics.median(judged) / statistics.median(parsed), 1),
    }
    print(
        json.dumps(figures)
        if asked.json
        else "\n".join(f"{name:20} {value}" for name, value in figures.items())
    )


def _cpu_ms(do: Any) -> float:
    start = time.process_time()
    do()
    return (time.process_time() - start) * 1e3


if __name__ == "__main__":
    main()
