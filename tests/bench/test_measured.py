"""docs/measured.md is written from the reports of the benchmarks, by bench/measured.py."""

import sys
from typing import Any

import pytest
import yaml

from support.repository import ROOT

BENCH = ROOT / "bench"
sys.path.insert(0, str(BENCH))

from measured import FIGURES, MISSING, page  # noqa: E402

BENCHES: dict[str, Any] = yaml.safe_load(FIGURES.read_text())
MACHINE = {
    "date": "2026-11-19",
    "processor": "a processor",
    "cores": 2,
    "memory_gb": 8,
    "system": "Linux",
    "python": "3.11",
    "filesystem": "ext4",
    "load_before": 0.1,
    "is_quick": False,
}
SHARE = {"what": "a share", "keys": ["figures", "share"], "form": "{:.0%}", "at_least": 0.9}
TIMES = {"what": "a time", "keys": ["times"], "form": "{:.1f} s", "at_most": 2}


def row_of(what: str, report: dict[str, Any], machine: dict[str, Any] = MACHINE) -> str:
    written = page(
        {"made_up": {"title": "Made up", "figures": [SHARE, TIMES]}}, {"machine": machine} | report
    )
    (row,) = [line for line in written.splitlines() if line.startswith(f"| {what} |")]
    return row


@pytest.mark.parametrize("name", BENCHES)
def test_each_figure_is_of_a_script_that_exists(name: str) -> None:
    assert (BENCH / f"{name}.py").exists()
    for figure in BENCHES[name]["figures"]:
        assert figure["form"].format(1.5)


def test_a_figure_stands_with_its_target() -> None:
    assert row_of("a share", {"made_up": {"figures": {"share": 0.95}}}) == "| a share | 95% | at least 90% |"


def test_a_missed_target_is_marked_on_either_side() -> None:
    assert row_of("a share", {"made_up": {"figures": {"share": 0.5}}}).endswith("at least 90%, **missed** |")
    assert row_of("a time", {"made_up": {"times": [1.0, 9.0, 3.0]}}) == (
        "| a time | 3.0 s | at most 2.0 s, **missed** |"
    )


def test_what_was_not_measured_says_so() -> None:
    assert MISSING in row_of("a share", {})
    assert MISSING in row_of("a share", {"made_up": {"figures": {"share": None}}})


def test_a_busy_machine_is_named() -> None:
    assert "measured under load" in row_of("load at the start", {}, MACHINE | {"load_before": 3.0})
    assert "measured under load" not in row_of("load at the start", {})
