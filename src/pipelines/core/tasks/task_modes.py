"""How a task goes on after its first turn: read from what a row has, and refused where it cannot be run.

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
NEEDS_MODEL = (
    "The user is played by a persona: a run needs a model, named by PIPELINES_USER_MODEL or PIPELINES_MODEL."
)
_SCRIPT = 'give `scripted_user_turns`, such as ["Yes, go ahead."]'


def with_modes(axes: JsonObject) -> tuple[JsonObject, list[str]]:
    """The axes with the modes that the others leave no choice about, and a sentence on each."""
    read = dict(axes)
    has_turns, has_persona = is_given(axes, _TURNS), is_given(axes, _PERSONA)
    signs = [axis for axis in (_TURNS, _PERSONA, _WHO) if is_given(axes, axis)]
    said = []
    if not is_given(axes, _MODE) and signs:
        read[_MODE] = CONVERSATION
        said.append(f"`{_MODE}` is read as `{CONVERSATION}`, since there is `{signs[0]}`.")
    if _word(read, _MODE) == CONVERSATION and has_turns and not has_persona and not is_given(axes, _WHO):
        read[_WHO] = "scripted"
        said.append(f"`{_WHO}` is read as `scripted`, since there are `{_TURNS}`.")
    return read, said


def cannot_run(axes: JsonObject) -> list[Problem]:
    """Why no run of this task could be what its author means, by axis. What is no mode is not looked at.

    `axes` are as they were given, beside whatever else is wrong with them.
    """
    read, _ = with_modes(axes)
    problems: list[Problem] = []
    if _word(read, _MODE) == CONVERSATION:
        problems += _persona_problems(axes, _word(read, _WHO))
    elif _word(read, _MODE) in ("", ONE_TURN):
        problems += _one_turn_problems(axes)
    return problems


def without_effect(seed: Seed) -> Iterator[str]:
    """What a run will pass over, as sentences."""
    if not seed.is_conversation:
        if seed.termination_keyword is not None:
            yield "`termination_keyword` has no effect: the task has one turn."
        if seed.memory_mode != "replay":
            yield f"`memory_mode` `{seed.memory_mode}` has no effect: the task has one turn."
        return
    if seed.needs_model:
        yield NEEDS_MODEL
        return
    turns = len(seed.scripted_user_turns) + 1
    if turns > seed.max_turns:
        count = f"only {seed.max_turns} of {turns} user turns are said"
        yield f"{count}, since `max_turns` is {seed.max_turns}."


def _persona_problems(axes: JsonObject, who: str) -> Iterator[Problem]:
    if who not in ("", "persona"):
        return
    if is_given(axes, _TURNS) and not who:
        message = f"there are both `{_TURNS}` and `{_PERSONA}`, and `{_WHO}` does not say which counts"
        yield Problem(path=f"/{_WHO}", message=message, hint=f"set `{_WHO}` to `scripted`")
    elif is_given(axes, _TURNS):
        message = f"the user is played by a persona, and there are `{_TURNS}`: only one can speak"
        hint = f"leave them out, or set `{_WHO}` to `scripted`"
        yield Problem(path=f"/{_TURNS}", message=message, hint=hint)


def _one_turn_problems(axes: JsonObject) -> Iterator[Problem]:
    hint = f"set `{_MODE}` to `{CONVERSATION}`, or leave the other out"
    for axis in (_TURNS, _PERSONA):
        if is_given(axes, axis):
            message = f"`{axis}` is for a conversation, and `{_MODE}` is `{ONE_TURN}`"
            yield Problem(path=f"/{axis}", message=message, hint=hint)
    most = axes.get("max_turns")
    if isinstance(most, int) and 1 < most <= MAX_TURNS:
        message = f"`max_turns` is {most}, but the task has one turn: it is no conversation"
        yield Problem(path="/max_turns", message=message, hint=f"leave it out, or {_SCRIPT}")


def _word(axes: JsonObject, axis: str) -> str:
    """A mode as it is read: in any case. What is no text is no mode."""
    value = axes.get(axis)
    return value.strip().lower() if isinstance(value, str) else "" if value is None else "?"


def is_given(axes: JsonObject, axis: str) -> bool:
    value = axes.get(axis)
    return value not in (None, "", [], {}) and not (isinstance(value, str) and not value.strip())
