"""The agent as uploaded code: the platform calls `run` once for each task, with the task's envelope bound."""

from typing import Any

from agent import answer

from pipelines.odyssey import current


def run(task_input: dict[str, Any], *, proxy_url: str, run_token: str) -> dict[str, Any]:
    return answer(current())
