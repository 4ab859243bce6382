"""PIPELINES_MODEL and the settings of single purposes: the models that the server asks, checked at start."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.core.models.model_names import URL_KEY, ModelName, read_model_name
from pipelines.core.models.model_question import Purpose
from pipelines.core.models.providers import KEY_VARIABLES
from pipelines.core.text.problems import Problem, Refused

if TYPE_CHECKING:
    from pipelines.server.config.settings import Settings

FIELDS = ("model", *(f"{purpose.value}_model" for purpose in Purpose))


def problems_of(values: Mapping[str, Any]) -> list[Problem]:
    """Problems of the model names, and of the files that they name."""
    problems: list[Problem] = []
    read: set[str] = set()
    for field in FIELDS:
        text = values[field]
        if not text:
            continue
        variable = f"PIPELINES_{field.upper()}"
        name = read_model_name(text, variable, problems)
        if name is not None and text not in read:
            read.add(text)
            problems += _file_problems(name, variable)
    return problems


def named_by(settings: "Settings") -> dict[Purpose, str]:
    """The variable that sets the model of each purpose."""
    found: dict[Purpose, str] = {}
    for purpose in Purpose:
        field = f"{purpose.value}_model"
        if getattr(settings, field) or settings.model:
            found[purpose] = f"PIPELINES_{field.upper()}" if getattr(settings, field) else "PIPELINES_MODEL"
    return found


def keys_of(environment: Mapping[str, str]) -> dict[str, str]:
    known = (*KEY_VARIABLES.values(), URL_KEY)
    return {variable: environment[variable] for variable in known if environment.get(variable, "").strip()}


def _file_problems(name: ModelName, variable: str) -> list[Problem]:
    if name.kind not in ("scripted", "recorded"):
        return []
    from pipelines.models.recorded import read_cassette
    from pipelines.models.script_file import read_script

    try:
        _ = read_script(Path(name.where)) if name.kind == "scripted" else read_cassette(Path(name.where))
    except Refused as refused:
        return [
            Problem(path=f"{variable} ({name.where}): {each.path}", message=each.message, hint=each.hint)
            for each in refused.problems
        ]
    return []
