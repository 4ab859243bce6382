"""Who is meant without an id: a tool that finds a person or a thing by what a user would know of it."""

from typing import NamedTuple

from pipelines.core.worlds.calls import asked_of
from pipelines.core.worlds.ground import Ground, called
from pipelines.core.worlds.shapes import ReferenceCall
from pipelines.core.worlds.trials import Trial
from pipelines.core.worlds.wording import said


class Found(NamedTuple):
    said: str  # “with email ada@example.com”, behind the noun
    call: ReferenceCall


def found_by(ground: Ground, trial: Trial) -> Found | None:
    """A lookup that leads to what the trial is about, and to nothing else."""
    about = trial.candidate.about
    if about is None:
        return None
    for tool in ground.toolset.tools:
        asked = asked_of(ground, tool.name)
        keys = asked.keys
        needed = [one for one in asked.fact.arguments if one.is_required]
        if (
            asked.own is None
            or asked.own.name != about[0]
            or not needed
            or not all(one in keys for one in needed)
        ):
            continue
        record = ground.world.entities.get(about[0], {}).get(about[1], {})
        arguments = {
            one.name: record.get(field.name) for one in needed if (field := asked.field(one)) is not None
        }
        if len(arguments) < len(needed) or any(value in (None, "") for value in arguments.values()):
            continue
        alike = [
            id
            for id, other in ground.world.entities[about[0]].items()
            if all(
                other.get(field.name) == record.get(field.name)
                for one in needed
                if (field := asked.field(one))
            )
        ]
        answer = called(ground.opened(now="2000-01-01T00:00:00Z"), tool.name, dict(arguments))
        if len(alike) == 1 and answer.succeeded and about[1] in str(answer.response):
            told = " and ".join(f"{' '.join(one.words)} {said(arguments[one.name])}" for one in needed)
            return Found(f"with {told}", ReferenceCall(tool=tool.name, arguments=dict(arguments)))
    return None
