"""Durable tool calls against a bare echo and the mock servers people use, all in one run.

    python bench/tool_call.py [--json] [--seconds 2] [--rounds 3]

Servers share one core, the load has the other. Every round measures every server once, so that a ratio
compares neighbours in time; reported are medians over the rounds.
"""

import argparse
import asyncio
import json
import os
import platform
import statistics
import sys
from contextlib import ExitStack
from typing import Any

import servers
from load import Load, measure

CONNECTIONS = (1, 32, 128)
WARM_UP_S = 0.5


def main() -> None:
    options = _options()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with ExitStack() as stack:
        targets = [
            stack.enter_context(servers.echo()),
            stack.enter_context(servers.odyssey("normal", runs=128)),
            stack.enter_context(servers.odyssey("full", runs=128)),
        ]
        skipped = []
        for name, start in (("wiremock", servers.wiremock), ("prism", servers.prism)):
            found = stack.enter_context(start()) if name not in options.skip else None
            targets.append(found) if found is not None else skipped.append(name)
        results = asyncio.run(_measure_all(targets, options))
    report = _report(results, skipped)
    print(json.dumps(report, indent=2) if options.json else _table(report))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--skip", action="append", default=[], help="wiremock, prism")
    return parser.parse_args()


async def _measure_all(
    targets: list[servers.Target], options: argparse.Namespace
) -> dict[str, dict[int, list[Load]]]:
    results: dict[str, dict[int, list[Load]]] = {
        target.name: {count: [] for count in CONNECTIONS} for target in targets
    }
    for target in targets:
        await measure(target.port, target.requests, connections=32, seconds=WARM_UP_S)
    for turn in range(options.rounds):
        for count in CONNECTIONS:
            for target in targets:
                print(f"round {turn + 1}: {target.name} at {count}", file=sys.stderr)
                load = await measure(target.port, target.requests, connections=count, seconds=options.seconds)
                results[target.name][count].append(load)
    return results


def _report(results: dict[str, dict[int, list[Load]]], skipped: list[str]) -> dict[str, Any]:
    figures = {
        name: {
            str(count): {
                field: statistics.median(load.as_json()[field] for load in loads)
                for field in ("calls_per_s", "p50_ms", "p99_ms")
            }
            for count, loads in by_count.items()
        }
        for name, by_count in results.items()
    }
    ratios: dict[str, Any] = {}
    for ours in ("odyssey NORMAL", "odyssey FULL"):
        for other in results:
            if not other.startswith("odyssey"):
                ratios[f"{ours} / {other}"] = _ratios(results[ours], results[other])
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "figures": figures,
        "ratios": ratios,
        "skipped": skipped,
    }


def _ratios(ours: dict[int, list[Load]], other: dict[int, list[Load]]) -> dict[str, dict[str, float]]:
    """Round by round, then the median: noise that lasts a round hits both sides."""
    found = {}
    for count in ours:
        rounds = list(zip(ours[count], other[count], strict=True))
        found[str(count)] = {
            "throughput": round(statistics.median(a.calls_per_s / b.calls_per_s for a, b in rounds), 3),
            "p50": round(statistics.median(a.p50_ms / b.p50_ms for a, b in rounds), 3),
        }
    return found


def _table(report: dict[str, Any]) -> str:
    lines = [f"{'server':16}" + "".join(f"{f'{count} conn':>28}" for count in CONNECTIONS)]
    for name, by_count in report["figures"].items():
        cells = [by_count[str(count)] for count in CONNECTIONS]
        shown = [f"{c['calls_per_s']:>9,.0f}/s  p50 {c['p50_ms']:.2f} p99 {c['p99_ms']:.1f}" for c in cells]
        lines.append(f"{name:16}" + "".join(f"{text:>28}" for text in shown))
    lines.append("")
    for name, by_count in report["ratios"].items():
        cells = [by_count[str(count)] for count in CONNECTIONS]
        shown = [f"{c['throughput']:.2f} x throughput, {c['p50']:.2f} x p50" for c in cells]
        lines.append(f"{name:28}" + " | ".join(shown))
    if report["skipped"]:
        lines.append(f"skipped, not to be had here: {', '.join(report['skipped'])}")
    return "\n".join([report["machine"], *lines])


if __name__ == "__main__":
    main()
