"""Ids in a file of scenarios: which scenario of a server each one is, where its name does not say it."""

import pytest

from pipelines.core.evals.scenarios.scenario_file import read_scenario_file
from pipelines.core.text.problems import Refused

ONE = "name: A\nrisk_level: low\ninput_context: {x: 1}\nexpected_behavior: {action: go}\n"
LISTED = (
    "- id: scn_1\n  "
    + ONE.replace("\n", "\n  ").rstrip()
    + "\n- "
    + ONE.replace("\n", "\n  ").rstrip()
    + "\n"
)


def test_an_id_is_kept_beside_the_scenario():
    file = read_scenario_file(LISTED)
    assert [id for id, _ in file.entries] == ["scn_1", None]
    assert [scenario.name for scenario in file.scenarios] == ["A", "A"]


@pytest.mark.parametrize("text", [LISTED, "scenarios:\n" + LISTED, "id: scn_1\n" + ONE, ONE])
def test_ids_are_written_and_read_back(text: str):
    file = read_scenario_file(text)
    assert read_scenario_file(file.as_yaml()) == file
    assert read_scenario_file(file.as_json_text()) == file


def test_a_file_without_ids_has_none():
    file = read_scenario_file(ONE)
    assert file.ids == ()
    assert "id" not in file.as_json()["scenarios"][0]


@pytest.mark.parametrize("id", ["7", "drf_1", "[]", "{}", "''"])
def test_what_is_no_id_of_a_scenario_is_refused_with_its_place(id: str):
    with pytest.raises(Refused) as refused:
        read_scenario_file(LISTED.replace("scn_1", id))
    (problem,) = refused.value.problems
    assert "/0/id" in problem.path or "0" in problem.path
    assert "scn_" in problem.message
