"""The page on scenarios and variations: its examples are read, and every field and variation is told."""

import json
import re

from pipelines.core.evals.scenarios.scenario import FIELDS, read_scenario
from pipelines.core.evals.scenarios.scenario_file import read_scenario_file
from pipelines.core.evals.scenarios.variation import BUILTIN, PLACEHOLDERS, read_variation
from support.eval_samples import SEED_EXAMPLE
from support.repository import DOCS

PAGE = (DOCS / "reference" / "evals.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_examples_of_the_page_are_read():
    seeds, cells, own = (
        next(block for block in blocks("json") if mark in block)
        for mark in ("Escalate critical", "pushes_toward", "budget_pressure")
    )
    assert json.loads(seeds) == SEED_EXAMPLE
    scenario = SEED_EXAMPLE | {"variations": json.loads(cells)}
    assert read_scenario(scenario, variations=BUILTIN).variations
    assert read_variation(json.loads(own)).intensities == (1, 2)
    file = next(block for block in blocks("yaml") if "scenarios:" in block)
    assert read_scenario_file(file).variations


def test_every_field_variation_and_placeholder_is_told():
    for name in (*FIELDS, *BUILTIN):
        assert f"`{name}`" in PAGE
    for name in PLACEHOLDERS:
        assert f"`{{{{{name}}}}}`" in PAGE
