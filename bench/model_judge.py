"""What of a call to a judge model is ours: building the question and checking the answer, at 1,000 records
and 50 calls.

    python bench/model_judge.py [--json] [--rounds 100]

Beside it the embedded judge on the same run: it asks nobody. The bound is 10 ms of the processor.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path
from time import thread_time
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from pipelines.core.ledger.ledger import World, update_from_json
from pipelines.core.tasks.rubric_lines import RubricLine
from pipelines.core.tools.tools_schema import Tool
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.judge import judge
from pipelines.core.verdict.model_judge.judge_answer import problems_in, read_answers
from pipelines.core.verdict.model_judge.judge_prompt import judge_question
from pipelines.core.verdict.model_judge.model_verdict import decide
from support.judge_attacks import answer_with

BOUND_MS = 10.0
RECORDS, CALLS = 1_000, 50
ORDER_ID = {"type": "object", "properties": {"order_id": {"type": "string"}}}
RULE = "A shipped order may be returned within 30 days; what is left is for the clerk to weigh."


def world() -> World:
    orders = {
        f"o-{n}": {
            "user_id": f"u-{n % 200}",
            "status": "shipped",
            "total": n * 1.5,
            "items": [{"sku": f"s-{n + k}", "price": 9.5, "quantity": 1} for k in range(3)],
        }
        for n in range(RECORDS - 200)
    }
    users = {f"u-{n}": {"name": f"Person {n}", "email": f"p{n}@example.com"} for n in range(200)}
    return World.from_initial_state({"order": orders, "user": users})


def call(number: int) -> EvidenceRow:
    """Every other one changes something."""
    id = f"o-{number}"
    update = {"op": "update", "entity_type": "order", "id": id, "set": {"status": "returned"}, "unset": []}
    is_write = number % 2 == 0
    return EvidenceRow(
        sequence=number,
        tool_name="return_order" if is_write else "get_order",
        arguments={"order_id": id},
        response={
            "id": id,
            "status": "returned" if is_write else "shipped",
            "note": "left at the door " * 20,
        },
        source="odyssey",
        http_status=200,
        updates=(update_from_json(update),) if is_write else (),
    )


def evidence() -> RunEvidence:
    tools = ("return_order", "Return an order."), ("get_order", "Get an order by its id.")
    return RunEvidence(
        user_instruction="Return whatever of mine is worth returning, and be kind about it.",
        behavior_instructions=RULE,
        rubric=tuple(
            RubricLine(id=f"line-{n}", text=f"The answer says why, {n} times over.") for n in range(5)
        ),
        tools=tuple(Tool(name=name, description=says, input_schema=ORDER_ID) for name, says in tools),
        world=world(),
        trace=tuple(call(number) for number in range(1, CALLS + 1)),
        responses=("I returned what could be returned, and I am sorry for the trouble. " * 20,),
    )


def measure(rounds: int) -> dict[str, Any]:
    run = evidence()
    asked: list[float] = []
    checks: list[float] = []
    embedded: list[float] = []
    for number in range(rounds):
        began = thread_time()
        verdict = judge(run)
        judged = thread_time()
        about = judge_question(run, verdict, (run.user_instruction,), fence_key=str(number).encode())
        about.question.key("scripted:bench")
        built = thread_time()
        answer = answer_with(about.question, "met")
        answered = thread_time()
        assert not problems_in(answer, about.asked)
        decide(read_answers(answer, about.asked.criteria), expected_outcome=run.expected_outcome)
        done = thread_time()
        embedded.append(judged - began)
        asked.append(built - judged)
        checks.append(done - answered)
    both = [one + other for one, other in zip(asked, checks, strict=True)]
    return {
        "question_ms": 1000 * statistics.median(asked),
        "checks_ms": 1000 * statistics.median(checks),
        "both_ms": 1000 * statistics.median(both),
        "both_p95_ms": 1000 * statistics.quantiles(both, n=20)[-1],
        "embedded_ms": 1000 * statistics.median(embedded),
        "characters": len(about.question.messages[0].content) + len(about.question.system),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    found = measure(options.rounds)
    if options.json:
        print(json.dumps(found))
    else:
        print(f"{RECORDS} records, {CALLS} calls, {found['characters']} characters")
        print(f"  question {found['question_ms']:.2f} ms, checks {found['checks_ms']:.2f} ms,")
        print(f"  both {found['both_ms']:.2f} ms (p95 {found['both_p95_ms']:.2f}); bound {BOUND_MS:g} ms")
        print(f"  the embedded judge takes {found['embedded_ms']:.2f} ms")
    sys.exit(0 if found["both_ms"] <= BOUND_MS else 1)


if __name__ == "__main__":
    main()
