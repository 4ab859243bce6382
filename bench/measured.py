"""Runs the benchmarks one after the other and writes docs/measured.md from what they print.

    python bench/measured.py [--quick] [--only plans,web] [--from-stored]

bench/figures.yaml lists the figures. Each benchmark prints JSON, which is stored in .bench/measured. The page
is written from these files alone, so no figure in it is typed by hand. `--quick` measures less and takes
minutes; `--from-stored` measures nothing and only writes the page.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from machine import filesystem

ROOT = Path(__file__).parent.parent
FIGURES = Path(__file__).parent / "figures.yaml"
PAGE = ROOT / "docs" / "measured.md"
STORED = ROOT / ".bench" / "measured"
MACHINE = "machine"
#: A benchmark may install a tool to compare with, and warms it for a minute.
PATIENCE_S = 3_600
BUSY = 0.5  # load per core before the first benchmark, from which on other work was measured too
MISSING = "not measured"


HEAD = """# Measured figures

`make bench` runs the scripts of [bench/](../bench) on one machine and writes this page. Do not edit it by
hand. Most figures are ratios against another program in the same run, because a ratio depends less on the
machine than an absolute figure."""
TARGETS = """A **target** is the figure that we aim at. The table marks a figure that misses its target. How
often Odyssey is right when it infers what a tool does is on [another page](reference/blind-sets.md)."""
Report = Mapping[str, Any]


def main() -> None:
    options = _options()
    benches: dict[str, Report] = yaml.safe_load(FIGURES.read_text())
    chosen = options.only.split(",") if options.only else list(benches)
    if not options.from_stored:
        STORED.mkdir(parents=True, exist_ok=True)
        _store(MACHINE, described_machine(is_quick=options.quick))
        for name in chosen:
            _measure(name, benches[name].get("quick", ()) if options.quick else ())
    reports = {path.stem: json.loads(path.read_text()) for path in STORED.glob("*.json")}
    PAGE.write_text(page(benches, reports))
    print(f"wrote {PAGE.relative_to(ROOT)}")


def _options() -> argparse.Namespace:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: minutes, and rough figures")
    parser.add_argument("--only", default="", help="some of bench/figures.yaml")
    parser.add_argument("--from-stored", action="store_true", help="measure nothing, write the page")
    return parser.parse_args()


def _measure(name: str, extra: Sequence[str]) -> None:
    """Stores what one benchmark prints. One that fails is told here, and missing on the page."""
    began = time.monotonic()
    print(f"{name} … ", end="", flush=True)
    command = [sys.executable, str(Path(__file__).parent / f"{name}.py"), "--json", *extra]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    print(f"{time.monotonic() - began:.0f} s")
    try:
        _store(name, json.loads(done.stdout))
    except ValueError:
        (STORED / f"{name}.json").unlink(missing_ok=True)
        print(done.stderr.strip()[-2_000:], file=sys.stderr)


def _store(name: str, report: Any) -> None:
    (STORED / f"{name}.json").write_text(json.dumps(report, indent=1))


def described_machine(*, is_quick: bool) -> dict[str, Any]:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "date": time.strftime("%Y-%m-%d"),
        "processor": models[0] if models else platform.machine(),
        "cores": os.cpu_count(),
        "memory_gb": round(memory / 1e9),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "filesystem": filesystem(str(ROOT)),
        "load_before": round(os.getloadavg()[0], 1),
        "is_quick": is_quick,
    }


def page(benches: Mapping[str, Report], reports: Mapping[str, Report]) -> str:
    """The page, from the table of figures, and the reports of the benchmarks and of the machine by name."""
    parts = [HEAD, "\n".join(_machine_lines(reports[MACHINE])), TARGETS]
    for name, bench in benches.items():
        report = reports.get(name)
        rows = [_row(figure, report) for figure in bench["figures"]]
        parts += [f"## {bench['title']}", *_remarks(name, report)]
        parts.append("\n".join(["| what | figure | target |", "|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _machine_lines(machine: Report) -> Iterable[str]:
    yield "| | |"
    yield "|---|---|"
    yield f"| date | {machine['date']} |"
    yield f"| processor | {machine['processor']}, {machine['cores']} cores |"
    yield f"| memory | {machine['memory_gb']} GB |"
    yield f"| system | {machine['system']}, Python {machine['python']}, data on {machine['filesystem']} |"
    is_busy = machine["load_before"] > BUSY * machine["cores"]
    remark = ": **measured under load**, other work used the machine" if is_busy else ""
    yield f"| load at the start | {machine['load_before']}{remark} |"
    yield f"| mode | {'quick: few rounds, rough figures' if machine['is_quick'] else 'full'} |"


def _remarks(name: str, report: Report | None) -> Iterable[str]:
    yield f"`python bench/{name}.py`"
    if report is not None and report.get("is_result") is False:
        yield f"By its own rule this is no result: {'; '.join(report['noise']['reasons'])}."
    if report is not None and report.get("skipped"):
        yield f"Not available on this machine: {', '.join(report['skipped'])}."


def _row(figure: Report, report: Report | None) -> str:
    value = _number(report, figure["keys"])
    least, most = figure.get("at_least"), figure.get("at_most")
    target = "–"
    if least is not None:
        target = "at least " + figure["form"].format(least)
    elif most is not None:
        target = "at most " + figure["form"].format(most)
    if value is None:
        return f"| {figure['what']} | {MISSING} | {target} |"
    is_missed = (least is not None and value < least) or (most is not None and value > most)
    missed = ", **missed**" if is_missed else ""
    return f"| {figure['what']} | {figure['form'].format(value)} | {target}{missed} |"


def _number(report: Any, keys: Sequence[str]) -> float | None:
    """The number at the end of the keys; of a list the median. None where it was not measured."""
    for key in keys:
        if not isinstance(report, dict) or report.get(key) is None:
            return None
        report = report[key]
    return statistics.median(report) if isinstance(report, list) else float(report)


if __name__ == "__main__":
    main()
