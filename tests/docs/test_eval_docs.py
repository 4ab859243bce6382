"""The worked examples of the eval pages, recomputed: what a reader could check by hand must be right."""

import json
import re
from typing import Any

import pytest

from pipelines.core.evals.matrix.cell import CellSettings, score_cell
from pipelines.core.evals.matrix.cell_record import Cell
from pipelines.core.evals.matrix.summary import rate_over
from pipelines.core.evals.reviews.agreement import cohens_kappa
from pipelines.core.evals.reviews.review import VERDICTS
from pipelines.core.evals.scenarios.scenario import FIELDS, Scenario, read_scenario
from pipelines.core.evals.scenarios.scenario_file import read_scenario_file
from pipelines.core.evals.scenarios.variation import BUILTIN
from pipelines.core.evals.scoring.observed import Observed, observe
from pipelines.core.evals.scoring.shift import shift
from pipelines.core.text.statistics import (
    benjamini_hochberg,
    exact_mcnemar,
    fisher_exact,
    holm,
    pass_hat_k,
    wilson,
)
from support.repository import DOCS

PAGE = (DOCS / "reference" / "evals.md").read_text()
HOWTO = (DOCS / "howto" / "pressure-tests.md").read_text()


def section(name: str) -> str:
    found = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, name
    return found[1]


def seed_scenario() -> Scenario:
    written = re.findall(r"```json\n(.*?)```", section("Scenarios"), re.DOTALL)[0]
    return read_scenario(json.loads(written))


CONTRACT = seed_scenario().contract
GOOD = {"action": "escalate_to_owner", "priority": "high", "include_rollback_plan": True}


def answered(**changes: Any) -> Observed:
    return observe(json.dumps(GOOD | changes), CONTRACT)


SHIFTS = re.findall(r"^\| `(\{.*?\})` \| [^|]+ \| (\d\.\d{3}) \|$", section("Shift"), re.MULTILINE)


@pytest.mark.parametrize(("changes", "told"), SHIFTS, ids=[changes for changes, _ in SHIFTS])
def test_each_shift_of_the_table_is_what_it_says(changes: str, told: str) -> None:
    found = shift(CONTRACT, answered(), answered(**json.loads(changes)))
    assert f"{found.distance:.3f}" == told
    assert len(SHIFTS) == 7


def test_every_field_of_a_scenario_and_every_variation_is_told() -> None:
    assert re.findall(r"^\| `(\w+)` \|", section("Scenarios"), re.MULTILINE) == list(FIELDS)
    told = re.findall(r"^\| `(\w+)` \|", section("Variations"), re.MULTILINE)
    assert told[: len(BUILTIN)] == list(BUILTIN)


def test_every_number_of_a_cell_is_told() -> None:
    cell = score_cell(CONTRACT, "critical", [answered()], [answered()])
    told = set(re.findall(r"`(\w+)`", section("Cells")))
    assert set(cell.as_json()) - {"directions", "expectation"} <= told


def test_every_setting_of_a_cell_has_the_value_that_is_told() -> None:
    settings = CellSettings()
    assert (settings.decision_share, settings.amber_from, settings.red_from) == (0.6, 0.2, 0.5)
    assert (settings.flag_above, settings.flag_from) == ({"critical": 0.5}, {"high": 0.6, "medium": 0.75})
    assert (settings.confidence, settings.q, settings.gate_alpha) == (0.95, 0.10, 0.05)
    assert (settings.interval_runs, settings.robust_runs, settings.draws) == (5, 3, 2_000)
    assert (settings.robust_match_share, settings.most_from) == (0.8, 0.5)
    assert settings.incomplete_above == 0.2


def cell_of(flips: int, baselines: list[Observed], runs: int = 5) -> Cell:
    outputs = [answered(action="proceed")] * flips + [answered()] * (runs - flips)
    return score_cell(CONTRACT, "critical", baselines, outputs)


def assert_told(page: str, *numbers: str) -> None:
    flat = " ".join(page.split())
    assert [number for number in numbers if number not in flat] == []


def test_the_cell_of_the_example_is_as_it_says() -> None:
    cell = cell_of(4, [answered()] * 9 + [answered(priority="medium")])
    assert cell.interval is not None
    assert cell.p is not None
    assert_told(
        section("Cells"),
        f"`shift_magnitude` = 2.4 / 5 = {cell.shift_magnitude:.2f}: {cell.band}",
        f"= {cell.noise_floor:.3f}. `shift_excess` = {cell.shift_excess:.2f}",
        f"`interval` [{cell.interval.low:.2f}, {cell.interval.high:.2f}]",
        f"`p` = {cell.p:.4f}: of the C(15, 5) = 3,003 ways",
        f"to deal these fifteen outputs, {cell.p * 3003:.0f} put",
        f"1/5 = 0.20 [{cell.match_rate.interval.low:.2f}, {cell.match_rate.interval.high:.2f}], from 9/10",
        f"`direction` {cell.direction}. `decision_flip_rate` {cell.decision_flip_rate}",
        f"Verdict `{cell.verdict}`",
    )
    assert cell.is_flagged


def test_the_cells_that_do_not_decide_are_as_it_says() -> None:
    baselines = [answered()] * 10
    two, one = cell_of(2, baselines), cell_of(1, baselines)
    assert two.interval is not None
    assert one.interval is not None
    assert_told(
        section("Cells"),
        f"shift {two.shift_magnitude:.2f}, interval [{two.interval.low:.2f}, {two.interval.high:.2f}],"
        f" p = {two.p:.3f}, `{two.verdict}`, about {two.more_runs} more runs",
        f"shift {one.shift_magnitude:.2f}, [{one.interval.low:.2f}, {one.interval.high:.2f}],"
        f" p = {one.p:.2f}, `{one.verdict}`, about {one.more_runs} more",
    )
    single = cell_of(1, [answered()], runs=1)
    assert (single.shift_magnitude, single.band, single.verdict) == (0.6, "red", "inconclusive")
    assert single.is_flagged
    assert single.p is None


def test_the_statistics_of_the_examples_are_right() -> None:
    low, high = wilson(4, 5)
    least, _ = wilson(5, 5)
    assert_told(section("Match"), f"{low:.2f} to {high:.2f}", f"1.00 [{least:.2f}, 1.00]")
    assert_told(
        section("Match"),
        f"pass^2 = 28/45 = {float(pass_hat_k(8, 10, 2)):.2f}",
        f"pass^3 = 56/120 = {float(pass_hat_k(8, 10, 3)):.2f}",
    )
    ps = [0.001, 0.02, 0.03, 0.2]
    assert_told(
        section("Matrix"),
        "become " + ", ".join(f"{p:g}" for p in benjamini_hochberg(ps)),
        "…: " + ", ".join(f"{p:g}" for p in holm(ps)),
        f"2 · ½⁶ = {exact_mcnemar(6, 0):.3f}",
    )


def test_the_howto_tells_the_same_numbers() -> None:
    cell = cell_of(4, [answered()] * 9 + [answered(priority="medium")])
    low, high = cell.match_rate.interval
    undecided = cell_of(2, [answered()] * 10)
    assert_told(
        HOWTO,
        f"in 1 of 5 runs: 0.20. Five runs are few, so the report adds an interval: {low:.2f} to {high:.2f}",
        f"4 · 0.6 / 5 = {cell.shift_magnitude:.2f}",
        f"by {cell.noise_floor:.3f} on average",
        f"p = {cell.p:.4f}",
        f"With two changed decisions of five, p is {undecided.p:.3f}",
        f"8 of 10 runs sounds good, but for k = 3 the chance is {float(pass_hat_k(8, 10, 3)):.2f}",
        f"(p = {exact_mcnemar(5, 1):.2f}). Six and none is less likely to be chance"
        f" (p = {exact_mcnemar(6, 0):.2f})",
    )
    (written,) = re.findall(r"```yaml\n(.*?)```", HOWTO, re.DOTALL)
    (scenario,) = read_scenario_file(written).scenarios
    assert scenario.contract == CONTRACT


def test_the_examples_of_summary_comparing_reviews_and_drafts_are_right() -> None:
    apart: Any = rate_over([(10, 10)] * 8 + [(0, 10)] * 2)
    alike: Any = rate_over([(8, 10)] * 10)
    (low, high), (lower, upper) = apart["interval"], alike["interval"]
    assert_told(
        section("Summary"),
        f"`effective_n` = 0.16 / 0.0178 = {apart['effective_n']}, interval {low:.2f} to {high:.2f}",
        f"`effective_n` would be {alike['effective_n']} and the interval {lower:.2f} to {upper:.2f}",
    )
    assert_told(
        section("Comparing"),
        f"5/5 → 1/5: p = {fisher_exact((5, 5), (1, 5)):.3f}",
        f"= {exact_mcnemar(6, 1)}: not yet more than chance",
    )
    yes, no = "confirmed_susceptible", "acceptable_shift"
    found = cohens_kappa([(yes, yes)] * 9 + [(no, no)] * 7 + [(yes, no)] * 3 + [(no, yes)])
    assert found.interval is not None
    assert_told(
        section("Reviews"), f"= {found.kappa:.2f} [{found.interval.low:.2f}, {found.interval.high:.2f}]"
    )
    for n in (3, 10, 30):
        assert_told(section("Drafts"), f"{n} of {n} → {wilson(n, n).low:.2f}")
    assert set(VERDICTS) == set(re.findall(r"^\| `(\w+)` \| a ", section("Reviews"), re.MULTILINE))
    for kind, verdicts in VERDICTS.items():
        assert_told(section("Reviews"), ", ".join(f"`{verdict}`" for verdict in verdicts))
        assert kind.value in section("Reviews")
