"""A backend with business rules, learnt from half of a recording and measured on the other half."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.fidelity.fidelity import replay
from pipelines.core.simulation.fidelity.recording import Recording
from pipelines.core.simulation.learning import Options, Workbench, learn
from pipelines.core.tools.tools_schema import Tool, parse_tools_schema
from support.backends import BACKENDS
from support.backends.recorder import record

TOOLS = ("cancel_appointment", "pay_bill", "list_doctors")


@pytest.fixture(scope="module")
def clinic() -> tuple[Recording, Recording]:
    whole = record(BACKENDS["clinic"], tasks=30, calls=12)
    first, second = (replace(whole, tasks=whole.tasks[at::2]) for at in (0, 1))
    return first, second


def test_calls_that_were_not_learnt_from_are_answered_right(clinic: tuple[Recording, Recording]) -> None:
    ours, others = clinic
    tools = parse_tools_schema(list(BACKENDS["clinic"].tools))
    bench = Workbench(ours, tools, Options(folds=2))
    plans = bench.learned(map(bench.learn_tool, TOOLS))
    right, before = _right(others, plans.applied_to(tools)), _right(others, tools)
    assert sum(right) > 0.85 * len(right) > 0
    assert sum(right) > 1.5 * sum(before)


def _right(recording: Recording, tools: Sequence[Tool]) -> list[bool]:
    report = replay(
        recording, lambda world: build_simulator(tools, world=world), clock=lambda: 0.0, only=TOOLS
    )
    return [one.fm_forced and one.cm_forced for one in report.outcomes]


def test_tools_learnt_one_by_one_are_what_all_of_them_learnt_together_are(
    clinic: tuple[Recording, Recording],
) -> None:
    few = replace(clinic[0], tasks=clinic[0].tasks[:3])
    tools = [one for one in parse_tools_schema(list(BACKENDS["clinic"].tools)) if one.name in TOOLS]
    bench = Workbench(few, tools)
    pieces = bench.learned(bench.learn_tool(name) for name in reversed(bench.names()))
    assert pieces.as_json() == learn(few, tools, clock=lambda: 0.0).as_json()
