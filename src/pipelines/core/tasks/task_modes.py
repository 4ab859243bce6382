"""The turn modes of a task: inferred from the row, and refused where no run is possible.

`turn_mode` and `simulator_mode` may be left out where only one reading makes sense. What no run could do is
refused when it is uploaded, not when somebody runs it.
"""

from collections.abc import Iterator

from pipelines.core.tasks.seed import CONVERSATION, MAX_TURNS, ONE_TURN, Seed
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem

_TURNS, _PERSONA, _MODE, _WHO = (
    "scripted_user_turns",
    "user_simulator_persona",
    "turn_mode",
    "simulator_mode",
)
NEEDS_MODEL = "A persona plays the user, so a run needs a model: set PIPELINES_USER_MODEL or PIPELINES_MODEL."
_SCRIPT = 'give `scripted_user_turns`, such as ["Yes, go ahead."]'


def with_modes(axes: JsonObject) -> tuple[JsonObject, list[str]]:
    """The axes with the modes that the others leave no choice about, and a sentence on each."""
    read = dict(axes)
    has_turns, has_persona = has_axis(axes, _TURNS), has_axis(axes, _PERSONA)
    signs = [axis for axis in (_TURNS, _PERSONA, _WHO) if has_axis(axes, axis)]
    complaints = []
    if not has_axis(axes, _MODE) and signs:
        read[_MODE] = CONVERSATION
        complaints.append(f"`{_MODE}` is taken as `{CONVERSATION}`, because `{signs[0]}` is given.")
    if _mode(read, _MODE) == CONVERSATION and has_turns and not has_persona and not has_axis(axes, _WHO):
        read[_WHO] = "scripted"
        complaints.append(f"`{_WHO}` is taken as `scripted`, because `{_TURNS}` is given.")
    return read, complaints


def unrunnable_problems(axes: JsonObject) -> list[Problem]:
    """Why no run of this task could be what its author means, by axis. What is no mode is not looked at.

    `axes` are as they were given, beside whatever else is wrong with them.
    """
    read, _ = with_modes(axes)
    problems: list[Problem] = []
    if _mode(read, _MODE) == CONVERSATION:
        problems += _persona_problems(axes, _mode(read, _WHO))
    elif _mode(read, _MODE) in ("", ONE_TURN):
        problems += _one_turn_problems(axes)
    return problems


def ineffective_axes(seed: Seed) -> Iterator[str]:
    """Sentences about fields that have no effect in a run."""
    if not seed.is_conversation:
        if seed.termination_keyword is not None:
            yield "`termination_keyword` has no effect, because the task has one turn."
        if seed.memory_mode != "replay":
            yield f"`memory_mode` `{seed.memory_mode}` has no effect, because the task has one turn."
        return
    if seed.needs_model:
        yield NEEDS_MODEL
        return
    turns = len(seed.scripted_user_turns) + 1
    if turns > seed.max_turns:
        count = f"only {seed.max_turns} of {turns} user turns are used"
        yield f"{count}, because `max_turns` is {seed.max_turns}."


def _persona_problems(axes: JsonObject, who: str) -> Iterator[Problem]:
    if who not in ("", "persona"):
        return
    if has_axis(axes, _TURNS) and not who:
        message = f"both `{_TURNS}` and `{_PERSONA}` are given, and `{_WHO}` does not say which to use"
        yield Problem(path=f"/{_WHO}", message=message, hint=f"set `{_WHO}` to `scripted`")
    elif has_axis(axes, _TURNS):
        message = f"`{_TURNS}` is given, but a persona plays the user"
        hint = f"remove `{_TURNS}`, or set `{_WHO}` to `scripted`"
        yield Problem(path=f"/{_TURNS}", message=message, hint=hint)


def _one_turn_problems(axes: JsonObject) -> Iterator[Problem]:
    hint = f"set `{_MODE}` to `{CONVERSATION}`, or remove the other"
    for axis in (_TURNS, _PERSONA):
        if has_axis(axes, axis):
            message = f"`{axis}` is for a conversation, and `{_MODE}` is `{ONE_TURN}`"
            yield Problem(path=f"/{axis}", message=message, hint=hint)
    most = axes.get("max_turns")
    if isinstance(most, int) and 1 < most <= MAX_TURNS:
        message = f"`max_turns` is {most}, but the task has one turn: it is not a conversation"
        yield Problem(path="/max_turns", message=message, hint=f"leave it out, or {_SCRIPT}")


def _mode(axes: JsonObject, axis: str) -> str:
    """A mode as it is read: in any case. What is no text is no mode."""
    value = axes.get(axis)
    return value.strip().lower() if isinstance(value, str) else "" if value is None else "?"


def has_axis(axes: JsonObject, axis: str) -> bool:
    value = axes.get(axis)
    return value not in (None, "", [], {}) and not (isinstance(value, str) and not value.strip())
