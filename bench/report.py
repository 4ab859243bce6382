"""What a benchmark of tool calls says: medians, ratios round by round, the goals, and the table of it all."""

import statistics
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from load import Load

CONNECTIONS = (1, 32, 128)
WIDTH = 100
NOT_A_RESULT = "NOT A RESULT: noisy machine"
Results = Mapping[str, Mapping[int, Sequence[Load]]]


class Goal(NamedTuple):
    what: str
    ours: str
    other: str
    field: str
    connections: int
    bound: float
    is_least: bool = True

    def is_reached(self, figure: float) -> bool:
        return figure >= self.bound if self.is_least else figure <= self.bound


GOALS = (
    Goal("read at 32, NORMAL, of the echo", "odyssey NORMAL", "echo", "throughput", 32, 0.70),
    Goal("read at 32, FULL, of the echo", "odyssey FULL", "echo", "throughput", 32, 0.50),
    Goal("write at 32, NORMAL, of the echo", "odyssey NORMAL write", "echo", "throughput", 32, 0.45),
    Goal("write at 32, FULL, of the echo", "odyssey FULL write", "echo", "throughput", 32, 0.36),
    Goal("read's p50 at 1, NORMAL, × the echo", "odyssey NORMAL", "echo", "p50", 1, 1.8, False),
    Goal("read's p50 at 1, FULL, × the echo", "odyssey FULL", "echo", "p50", 1, 3.8, False),
    Goal("read at 32, NORMAL, × warmed WireMock", "odyssey NORMAL", "wiremock", "throughput", 32, 1.2),
    Goal("read at 32, NORMAL, × warmed Prism", "odyssey NORMAL", "prism", "throughput", 32, 12),
)
MOST_BLOCKED_MS = 10.0


def medians(results: Results) -> dict[str, dict[str, dict[str, float]]]:
    return {
        name: {
            str(count): {
                field: statistics.median(load.as_json()[field] for load in loads)
                for field in ("calls_per_s", "p50_ms", "p99_ms", "own_cpu")
            }
            for count, loads in by_count.items()
        }
        for name, by_count in results.items()
    }


def ratios(results: Results) -> dict[str, dict[str, dict[str, float]]]:
    """Ours against each other server; writes against the echo only, the rest having no state to write."""
    found = {}
    for name in (name for name in results if name.startswith("odyssey")):
        for other in (other for other in results if not other.startswith("odyssey")):
            if other == "echo" or not name.endswith("write"):
                found[f"{name} / {other}"] = round_by_round(results[name], results[other])
    return found


def round_by_round(
    ours: Mapping[int, Sequence[Load]], other: Mapping[int, Sequence[Load]]
) -> dict[str, dict[str, float]]:
    """Round by round, then the median: noise that lasts a round hits both sides."""
    found = {}
    for count in ours:
        rounds = list(zip(ours[count], other[count], strict=True))
        found[str(count)] = {
            "throughput": round(statistics.median(a.calls_per_s / b.calls_per_s for a, b in rounds), 3),
            "p50": round(statistics.median(a.p50_ms / b.p50_ms for a, b in rounds), 3),
        }
    return found


def blocked(rounds: Mapping[str, Sequence[Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """Per server: medians over the rounds, and the latest tick of all."""
    return {
        name: {
            "p50_ms": round(statistics.median(late["p50_ms"] for late in found), 2),
            "p99_ms": round(statistics.median(late["p99_ms"] for late in found), 2),
            "max_ms": max(late["max_ms"] for late in found),
        }
        for name, found in rounds.items()
    }


def goals(
    found: Mapping[str, Mapping[str, Mapping[str, float]]], late: Mapping[str, Mapping[str, float]]
) -> list[dict[str, Any]]:
    """Each goal with its figure; `reached` is None where it was not measured."""
    lines = []
    for goal in GOALS:
        figure = found.get(f"{goal.ours} / {goal.other}", {}).get(str(goal.connections), {}).get(goal.field)
        sign = "≥" if goal.is_least else "≤"
        reached = None if figure is None else goal.is_reached(figure)
        lines.append({"goal": f"{goal.what} {sign} {goal.bound:g}", "figure": figure, "reached": reached})
    for name in (name for name in late if name.startswith("odyssey")):
        figure = late[name]["p99_ms"]
        lines.append(
            {
                "goal": f"loop blocked, p99 at 32, {name} ≤ {MOST_BLOCKED_MS:g} ms",
                "figure": figure,
                "reached": figure <= MOST_BLOCKED_MS,
            }
        )
    return lines


def table(report: Mapping[str, Any]) -> str:
    """All of it as text of at most 100 columns."""
    parts = [
        [report["machine"], report["load"]["text"]],
        _figures(report["figures"]),
        _ratio_lines(report["ratios"]),
        _blocked_lines(report["blocked"]),
        _noise_lines(report["noise"]),
        _goal_lines(report["goals"]),
    ]
    if report["skipped"]:
        parts.append([f"skipped, or not to be had here: {', '.join(report['skipped'])}"])
    if not report["is_result"]:  # at the top and at the end: one of the two is what is copied
        why = "; ".join(report["noise"]["reasons"])
        parts.insert(0, textwrap.wrap(f"{NOT_A_RESULT} ({why})", WIDTH))
        parts.append([f"{NOT_A_RESULT}, see above"])
    return "\n\n".join("\n".join(lines) for lines in parts)


def _figures(figures: Mapping[str, Any]) -> list[str]:
    head = "".join(f"{f'{count} conn':>11}{'p50 ms':>7}{'p99 ms':>8}" for count in CONNECTIONS)
    lines = [f"{'calls/s':20}{head}"]
    for name, by_count in figures.items():
        cells = [by_count[str(count)] for count in CONNECTIONS]
        shown = "".join(f"{c['calls_per_s']:>11,.0f}{c['p50_ms']:>7.2f}{c['p99_ms']:>8.2f}" for c in cells)
        lines.append(f"{name:20}{shown}")
    return lines


def _ratio_lines(found: Mapping[str, Any]) -> list[str]:
    lines = [f"{'ratio':34}" + "".join(f"{f'{count} conn':>11}{'p50':>8}" for count in CONNECTIONS)]
    for name, by_count in found.items():
        cells = [by_count[str(count)] for count in CONNECTIONS]
        lines.append(f"{name:34}" + "".join(f"{c['throughput']:>11.2f}{c['p50']:>8.2f}" for c in cells))
    return lines


def _blocked_lines(late: Mapping[str, Mapping[str, float]]) -> list[str]:
    lines = [f"{'ticks late at 32 conn, ms':34}{'p50':>8}{'p99':>8}{'max':>8}"]
    for name, found in late.items():
        lines.append(f"{name:34}{found['p50_ms']:>8.2f}{found['p99_ms']:>8.2f}{found['max_ms']:>8.1f}")
    return lines


def _noise_lines(noise: Mapping[str, Any]) -> list[str]:
    lines = [f"{'taken from us':20}{'servers: stolen':>18}{'others':>9}{'load: stolen':>16}{'others':>9}"]
    named = [*((f"round {number}", cores) for number, cores in enumerate(noise["rounds"], start=1))]
    for name, cores in [*named, ("overall", noise["overall"])]:
        servers, load = cores["server"], cores["load"]
        lines.append(
            f"{name:20}{servers['stolen']:>18.1%}{servers['foreign']:>9.1%}"
            f"{load['stolen']:>16.1%}{load['foreign']:>9.1%}"
        )
    if noise["echo_spread"] is not None:
        lines.append(f"echo at 32 connections between rounds: {noise['echo_spread']:.1%} apart")
    return lines


def _goal_lines(found: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = []
    for goal in found:
        word = {True: "reached", False: "missed", None: "not measured"}[goal["reached"]]
        figure = "" if goal["figure"] is None else f"{goal['figure']:.2f}"
        lines.append(f"{word:13}{figure:>8}   {goal['goal']}")
    return lines
