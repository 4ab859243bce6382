"""Conversations: modes that only one reading is left for, and tasks that no run could carry out."""

import pytest

from pipelines.core.task_files.read_tasks import read_tasks
from pipelines.core.tasks.task_modes import with_modes
from pipelines.core.text.problems import Refused

TURNS = ["Yes, go ahead."]
MODE = "`turn_mode` is taken as `model_as_user`, because `{}` is given."
WHO = "`simulator_mode` is taken as `scripted`, because `scripted_user_turns` is given."

INFERRED = {
    "turns alone": ({"scripted_user_turns": TURNS}, [MODE.format("scripted_user_turns"), WHO]),
    "turns and turn_mode": ({"scripted_user_turns": TURNS, "turn_mode": "Model_As_User"}, [WHO]),
    "turns and simulator_mode": (
        {"scripted_user_turns": TURNS, "simulator_mode": "scripted"},
        [MODE.format("scripted_user_turns")],
    ),
    "all said": (
        {"scripted_user_turns": TURNS, "simulator_mode": "scripted", "turn_mode": "model_as_user"},
        [],
    ),
    "a persona beside turns that are said to count": (
        {"scripted_user_turns": TURNS, "simulator_mode": "scripted", "user_simulator_persona": "Ada"},
        [MODE.format("scripted_user_turns")],
    ),
}


@pytest.mark.parametrize(("row", "notes"), INFERRED.values(), ids=INFERRED)
def test_modes_with_one_reading_are_inferred_and_said(row, notes):
    read = read_tasks([{"user": "a"} | row])
    (seed,) = read.seeds
    assert (seed.turn_mode, seed.simulator_mode) == ("model_as_user", "scripted")
    assert list(read.notes) == [f"Task 1: {note}" for note in notes]


def test_a_plain_task_is_left_as_it_is():
    read = read_tasks([{"user": "a", "turn_mode": "single_shot"}, {"user": "b", "scripted_user_turns": []}])
    assert [seed.turn_mode for seed in read.seeds] == ["single_shot"] * 2
    assert read.notes == ()
    assert with_modes({}) == ({}, [])


def test_a_note_is_told_once_with_its_rows():
    turns = '"[""Yes.""]"'
    read = read_tasks(f"user,scripted_user_turns\na,{turns}\nb,{turns}\nc,\nd,{turns}\ne,{turns}\n".encode())
    assert read.notes == (
        f"Rows 2, 3, 5 and 6: {MODE.format('scripted_user_turns')}",
        f"Rows 2, 3, 5 and 6: {WHO}",
    )


REFUSED = {
    "turns that a persona would not say": (
        {"scripted_user_turns": TURNS, "simulator_mode": "persona"},
        "scripted_user_turns",
        "a persona plays the user",
    ),
    "both, and nobody says which": (
        {"scripted_user_turns": TURNS, "user_simulator_persona": "Ada"},
        "simulator_mode",
        "does not say which",
    ),
    "a script without turns": ({"simulator_mode": "scripted"}, "scripted_user_turns", "needs"),
    "turns in a task of one": (
        {"turn_mode": "single_shot", "scripted_user_turns": TURNS},
        "scripted_user_turns",
        "`turn_mode` is `single_shot`",
    ),
    "a persona in a task of one turn": (
        {"turn_mode": "single_shot", "user_simulator_persona": "Ada"},
        "user_simulator_persona",
        "`turn_mode` is `single_shot`",
    ),
    "many turns of one": ({"max_turns": 5}, "max_turns", "one turn"),
    "a workspace": ({"workspace_seed": {"type": "empty"}}, "workspace_seed", "has no `scenario_ref`"),
    "a setup": ({"setup_command": "make"}, "setup_command", "has no `scenario_ref`"),
    "a grader": ({"eval": "pytest"}, "eval", "has no `scenario_ref`"),
}


@pytest.mark.parametrize(("row", "column", "says"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_run_is_refused_at_upload(row, column, says):
    with pytest.raises(Refused) as found:
        read_tasks([{"user": "fine"}, {"user": "a"} | row])
    (problem,) = found.value.problems
    assert (problem.row, problem.column) == (2, column)
    assert says in problem.message
    assert problem.hint


def test_what_cannot_run_is_told_beside_everything_else():
    with pytest.raises(Refused) as found:
        read_tasks(
            [{"user": "a", "state": {"order": 5}, "max_turns": 9, "eval": "x"}, {"user": "", "eval": "x"}]
        )
    told = [(problem.row, problem.column) for problem in found.value.problems]
    assert told == [(1, "state"), (1, "max_turns"), (1, "eval"), (2, "user"), (2, "eval")]
    with pytest.raises(Refused) as found:
        read_tasks([{"user": "a", "turn_mode": "chat", "max_turns": 9}])
    assert [problem.column for problem in found.value.problems] == ["turn_mode"]


WITHOUT_EFFECT = {
    "a keyword": ({"termination_keyword": "bye"}, "`termination_keyword` has no effect"),
    "a memory": ({"memory_mode": "stateful"}, "`memory_mode` `stateful` has no effect"),
    "turns past the most": (
        {"scripted_user_turns": ["b", "c"], "turn_mode": "model_as_user", "max_turns": 2},
        "only 2 of 3 user turns are used",
    ),
}


@pytest.mark.parametrize(("row", "says"), WITHOUT_EFFECT.values(), ids=WITHOUT_EFFECT)
def test_what_a_run_passes_over_is_noted(row, says):
    assert any(says in note for note in read_tasks([{"user": "a"} | row]).notes)
