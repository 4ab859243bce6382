"""Reads the form that judges stored runs again: which oracle and which judge model to use."""

from collections.abc import Mapping

from pipelines.core.text.json_text import JsonObject
from pipelines.engine.judging.rejudge_runs import RejudgeOptions, read_rejudge


def rejudge_in(form: Mapping[str, str]) -> RejudgeOptions:
    """Raises Refused if the name of the model is not valid."""
    model = form.get("model", "").strip()
    body: JsonObject = {"model": model} if model else {}
    return read_rejudge(body, by_present_oracle=form.get("oracle") == "present")
