"""Runs that evidence leaves open, and judge models to read them, in a server of this process."""

from collections.abc import Callable, Sequence
from typing import Any

from pipelines.core.models.model_question import ModelQuestion, Purpose
from pipelines.engine.model_calls.ask_models import Models
from pipelines.models.client import ModelClient
from pipelines.models.scripted import Scripted, ScriptedModel
from support.desk import DrivenRun, House, Org, Row, answered
from support.judge_attacks import answer_with

OPEN = "Write something kind about order 4521."  # no oracle, and no question: only a reader can tell
A_JUDGE = "scripted:a"


class Judges:
    """Models by their names, in place of the server's."""

    def __init__(self, **models: ScriptedModel) -> None:
        self.models = {f"scripted:{name}": model for name, model in models.items()}

    async def client_for(self, org_id: int, model: str) -> ModelClient:
        return self.models[model]

    async def close(self) -> None: ...


def judge(*answers: Any, cost: int | None = 1_000) -> ScriptedModel:
    """Gives these answers one after the other, the last for ever; a status is that of completion."""
    script = [Scripted(answer=_said(each), times=1) for each in answers[:-1]]
    return ScriptedModel([*script, Scripted(answer=_said(answers[-1]))], nanousd_a_token=cost)


def _said(each: Any) -> Any:
    if isinstance(each, str) and each in ("met", "not_met", "cannot_tell"):
        return lambda question: answer_with(question, each)
    return each


def changed(**entries: Row) -> Callable[[ModelQuestion], Row]:
    """All met, but for these fields of these criteria; None takes a criterion away."""

    def answer(question: ModelQuestion) -> Row:
        whole = answer_with(question, "met")["criteria"]
        kept = [
            each | entries.get(each["id"], {}) for each in whole if entries.get(each["id"], {}) is not None
        ]
        return {"criteria": kept}

    return answer


def ask_of(house: House, a: ScriptedModel, **others: ScriptedModel) -> ScriptedModel:
    """The server's judge is `a` from here on."""
    platform = house.platform
    clients = Judges(a=a, **others)
    models = Models(platform.database, clients, {Purpose.JUDGE: A_JUDGE}, now=platform.now)
    models.on_used_up = platform.models.on_used_up
    object.__setattr__(platform, "models", models)
    return a


async def open_run(org: Org, agent: Row | None = None, said: str = "A fine order.", **task: Any) -> Row:
    """A run that has ended; its verdict is the judge's by then."""
    return answered(await (await driven(org, agent, **task)).finish(final_response=said))  # type: ignore[no-any-return]


async def driven(org: Org, agent: Row | None = None, **task: Any) -> DrivenRun:
    run = await org.run(agent, **({"user": OPEN} | task))
    answered(await run.call("get_order", {"order_id": "4521"}))
    return run


async def verdicts_of(org: Org, run_id: int) -> Row:
    read: Row = answered(await org.client.get(f"/api/runs/{run_id}/verdicts"))
    return read


async def decided(org: Org, run_ids: Sequence[int], verdict: str) -> None:
    for run_id in run_ids:
        answered(await org.client.post(f"/api/runs/{run_id}/verdict", json={"verdict": verdict}))
