"""What guessing costs, and whether it grows faster than what is read.

    python bench/guessing.py [--json]

Reading tools, reading behaviour text and judging an answer, each of n and of 2n things in turns. The ratio of
the two is the figure: 2 is linear. The reference in the same run is parsing the same input as JSON.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.build import build_simulator
from pipelines.core.tools.tools_schema import parse_tools_schema
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.judge import judge

ROUNDS = 5
NOUNS = ("order", "user", "ticket", "product", "invoice", "shipment", "flight", "booking", "note", "room")
VERBS = ("get", "list", "create", "update", "cancel")
SENTENCES = (
    "A cancelled {} cannot be updated.",
    "Only open {}s can be cancelled.",
    "The price of a {} is at most 500.",
    "Guests who behave badly make everybody sad when a {} is late.",
)


def tools(nouns: int) -> Any:
    return [
        {
            "name": f"{verb}_{noun}",
            "description": f"{verb.capitalize()}s the {noun}.",
            "input_schema": {
                "type": "object",
                "properties": {f"{noun}_id": {"type": "string"}, "price": {"type": "number"}},
            },
        }
        for noun in NOUNS[:nouns]
        for verb in VERBS
    ]


def seeded(nouns: int, records: int) -> Any:
    return {
        noun: {
            f"{noun[0].upper()}-{number}": {"status": "open", "name": f"{noun} {number}", "price": number}
            for number in range(records)
        }
        for noun in NOUNS[:nouns]
    }


def read_tools(size: int) -> tuple[Any, Callable[[], Any]]:
    declared, world = tools(size), seeded(size, 50)
    parsed, start = parse_tools_schema(declared), World.from_initial_state(world)
    return [declared, world], lambda: [*build_simulator(parsed, world=start).plans.values()]


def read_behavior(size: int) -> tuple[Any, Callable[[], Any]]:
    declared, world = tools(5), seeded(5, 50)
    parsed, start = parse_tools_schema(declared), World.from_initial_state(world)
    text = " ".join(SENTENCES[at % len(SENTENCES)].format(NOUNS[at % 5]) for at in range(size))
    return text, lambda: [*build_simulator(parsed, world=start, behavior=text).plans.values()]


def judge_answer(size: int) -> tuple[Any, Callable[[], Any]]:
    declared, world = tools(2), seeded(2, 500)
    said = " ".join(f"Order O-{at} is open and costs {at}.00." for at in range(size))
    orders: list[Any] = [{"id": id, **attrs} for id, attrs in world["order"].items()]
    trace = (
        EvidenceRow(
            sequence=1, tool_name="list_order", arguments={}, response={"orders": orders}, source="odyssey",
            http_status=200,
        ),
    )  # fmt: skip

    def call() -> Any:
        evidence = RunEvidence(
            user_instruction="What about my orders?",
            tools=parse_tools_schema(declared),
            world=World.from_initial_state(world),
            trace=trace,
            responses=(said,),
        )
        return judge(evidence)

    return [declared, world, said], call


CASES: dict[str, tuple[Callable[[int], tuple[Any, Callable[[], Any]]], int]] = {
    "reading tools, n of 10 kinds": (read_tools, 5),
    "behaviour text, sentences": (read_behavior, 20),
    "judging, sentences about 1,000 records": (judge_answer, 40),
}


def timed(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def measured(make: Callable[[int], tuple[Any, Callable[[], Any]]], size: int) -> dict[str, Any]:
    (given, once), (_, twice) = make(size), make(2 * size)
    text = json.dumps(given)
    rows = [(timed(once), timed(twice), timed(lambda: json.loads(text))) for _ in range(ROUNDS)]
    return {
        "size": size,
        "seconds": round(min(one for one, _, _ in rows), 3),
        "twice_as_much": round(statistics.median(two / one for one, two, _ in rows), 2),
        "of_parsing_json": round(statistics.median(one / parse for one, _, parse in rows)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    report = {name: measured(make, size) for name, (make, size) in CASES.items()}
    if options.json:
        print(json.dumps(report, indent=2))
        return
    for name, found in report.items():
        print(
            f"{name}: {found['size']} in {found['seconds']} s, twice as many {found['twice_as_much']} x; "
            f"{found['of_parsing_json']} x parsing them as JSON"
        )


if __name__ == "__main__":
    main()
