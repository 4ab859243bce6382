"""The form that judges stored runs again: by which oracle, and read by which model."""

from collections.abc import Mapping

from pipelines.core.text.json_text import JsonObject
from pipelines.engine.judging.rejudge_runs import RejudgeOptions, read_rejudge


def rejudge_in(form: Mapping[str, str]) -> RejudgeOptions:
    """Refused where the name of the model is none."""
    model = form.get("model", "").strip()
    body: JsonObject = {"model": model} if model else {}
    return read_rejudge(body, by_present_oracle=form.get("oracle") == "present")
