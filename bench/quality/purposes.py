"""What is measured, in the order in which it is asked."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from pipelines.core.models.model_question import Purpose
from quality import judge, plans, recorded_plans, rules, simulator
from quality.cases import Question


class Measured(NamedTuple):
    title: str
    purpose: Purpose
    questions: Callable[[int], Iterator[Question]]


MEASURED = {
    "rules": Measured(rules.TITLE, Purpose.AUTHOR, rules.questions),
    "plans": Measured(plans.TITLE, Purpose.AUTHOR, plans.questions),
    "recorded_plans": Measured(recorded_plans.TITLE, Purpose.AUTHOR, recorded_plans.questions),
    "judge": Measured(judge.TITLE, Purpose.JUDGE, judge.questions),
    "simulator": Measured(simulator.TITLE, Purpose.SIMULATOR, simulator.questions),
}
