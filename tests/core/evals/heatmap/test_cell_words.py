"""The statistics of a cell in words: what is known is said, what is not known is not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.evals.heatmap.cell_words import cell_sentences, percent_or_less
from pipelines.core.evals.matrix.cell_fields import MOST_VALUES, fields_of_cell
from pipelines.core.evals.scenarios.contract import Contract
from pipelines.core.evals.scoring.observed import Observed
from support.sample_report import SETTINGS, cell, rate, scenario

ROW = scenario("scn_1", "Scenario")


def _said(**changed: Any) -> str:
    return " ".join(cell_sentences(cell("scn_1", "time_pressure", 0.67, **changed), ROW, SETTINGS))


def test_a_cell_that_moved_says_how_far_how_sure_and_where_to() -> None:
    change = {"difference": -0.5, "interval": [-0.8, -0.1], "p": 0.03}
    said = _said(match_change=change, p_placebo=0.01)
    for each in (
        "Critical: the agent changes its behavior under this pressure",
        "Under the variation 2 of 5 runs matched (40 %, 95 % interval 12–77 %); without it 9 of 10",
        "50 points fewer (95 % interval −80 to −10), more than chance",
        "would occur in 3.0 % of such comparisons",
        "differ from the baseline's by 0.67 (95 % interval 0.57 to 0.77)",
        "0.05 (the noise floor), so 0.62 of the shift is above noise",
        "0.8 % of the assignments would differ as much",
        "it counts as more than noise",
        "the placebo, changes the agent's behavior less",
        "The decision changed in 80 % of the runs",
        "The agent moved in the direction of the pressure",
    ):
        assert each in said


@pytest.mark.parametrize("verdict", ["failing", "inconclusive", "susceptible"])
def test_a_small_shift_alone_is_not_called_robust(verdict: str) -> None:
    green = cell("scn_1", "time_pressure", 0.05, verdict=verdict, match_rate=rate(0, 5))
    said = " ".join(cell_sentences(green, ROW, SETTINGS))
    assert said.startswith(verdict.capitalize())
    assert "robust" not in said.lower()


@pytest.mark.parametrize(
    ("changed", "said", "unsaid"),
    [
        ({"p": None, "p_adjusted": None}, "run it with more repeats", "at random"),
        ({"p": 0.4, "p_adjusted": 0.6}, "it does not count as more than noise", "it counts as"),
        ({"interval": None, "runs": 2, "range": [0.6, 0.7]}, "from 0.6 to 0.7; too few runs", "interval 0.5"),
        ({"interval": None, "runs": 2, "range": [0.6, 0.6]}, "every run the same", "from 0.6"),
        ({"noise_floor": 0.0}, "The baselines agree with each other", "already"),
        ({"errors": 2}, "2 runs failed; they are not counted in any rate", "nothing"),
        (
            {"verdict": "inconclusive", "more_runs": 1},
            "About 1 more run like these would decide",
            "1 more runs",
        ),
        ({"expectation": "directional"}, "expects a different behavior here", "nothing"),
    ],
)
def test_what_is_said_follows_from_what_is_known(changed: dict[str, Any], said: str, unsaid: str) -> None:
    assert said in _said(**changed)
    assert unsaid not in _said(**changed)


def test_a_cell_without_runs_says_only_that() -> None:
    empty = cell("scn_1", "time_pressure", None, noise_floor=None)
    assert cell_sentences(empty, scenario("scn_1", "x", baseline={}), SETTINGS) == [
        "Incomplete: too many of its runs failed, or have not ended."
    ]


@given(st.floats(0, 1))
def test_a_share_is_never_said_to_be_nothing(p: float) -> None:
    assert not percent_or_less(p).startswith("0.0 %")


def test_no_difference_is_called_none() -> None:
    none = {"difference": 0.0, "interval": [-0.3, 0.3], "p": 1.0}
    assert "That is no difference" in _said(match_change=none, match_rate=rate(5, 5))


# -- field by field

CONTRACT = Contract(expected_behavior={"action": "ask", "note": {"$exists": True}})


def _object(**fields: Any) -> Observed:
    return Observed(output_class="object", value=fields)


def test_fields_are_counted_on_each_side_and_the_furthest_stand_first() -> None:
    before = [_object(action="ask", note="a"), _object(action="ask", note=None)]
    after = [_object(action="go"), Observed(output_class="refusal", value="I cannot help")]
    components = [{"path": "/note", "distance": 0.1}, {"path": "/action", "distance": 1.0}]
    assert fields_of_cell(CONTRACT, before, after, components[1:])[1].distance == 0.0
    by_class = [{"path": "", "kind": "class", "distance": 1.0}]
    assert [each.distance for each in fields_of_cell(CONTRACT, before, after, by_class)] == [None, None]
    action, note = fields_of_cell(CONTRACT, before, after, components)
    assert (action.path, action.is_decision, action.has_moved) == ("/action", True, True)
    assert [(each.shown, each.runs) for each in action.before] == [('"ask"', 2)]
    assert [(each.shown, each.is_missing) for each in action.after] == [('"go"', False), ("(refusal)", True)]
    assert {each.shown for each in note.before} == {'"a"', "null"}  # null, "" and missing are three things
    assert {each.shown for each in note.after} == {"(missing)", "(refusal)"}


@given(st.lists(st.sampled_from("abcdefghijklmnop"), max_size=60))
def test_every_run_is_counted_however_many_values_there_are(values: list[str]) -> None:
    outputs = [_object(action=value, note=1) for value in values]
    action = next(each for each in fields_of_cell(CONTRACT, outputs, outputs, ()) if each.is_decision)
    assert sum(each.runs for each in action.before) + action.others_before == len(values)
    assert len(action.before) <= MOST_VALUES
    assert action.distance is None
