"""Durable tool calls against a bare echo and the mock servers people use, all in one run.

    python bench/tool_call.py [--json] [--seconds 2] [--rounds 5] [--warm 60] [--skip wiremock] [--anyway]

Servers share one core, the load has the other. WireMock and Prism are warmed first. Every round measures
every server once, so that a ratio compares neighbours in time; reported are medians over the rounds. A run on
a noisy machine is printed as what it is, NOT A RESULT, and ends with status 3 (0 with --anyway).
"""

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import machine
import noise
import report
import servers
from load import Load, measure

RUNS = max(report.CONNECTIONS)
LOADED = 32  # the connections of warming, of the blocked loop, and of the echo's spread
MOST_WARM_S = {"wiremock": 600.0, "prism": 10.0}  # a JVM compiles for a minute, node for seconds
WARM_S = 1.0  # of servers that compile nothing: it opens every run
NOT_A_RESULT = 3


class Bench:
    """The servers of one run, and what was measured of them."""

    def __init__(self, targets: list[servers.Target], options: argparse.Namespace) -> None:
        self._targets = targets
        self._options = options
        self.results: dict[str, dict[int, list[Load]]] = {
            target.name: {count: [] for count in report.CONNECTIONS} for target in targets
        }
        self.late: dict[str, list[dict[str, float]]] = {target.name: [] for target in targets if target.ticks}
        self.taken: list[list[noise.Taken]] = []
        self.measurements: list[dict[str, Any]] = []

    def warm(self) -> None:
        for target in self._targets:
            servers.check(target)
            most = MOST_WARM_S.get(target.name)
            seconds = min(self._options.warm, most) if most else WARM_S
            _say(f"warming {target.name} for {seconds:g} s")
            measure(target.port, target.requests, connections=LOADED, seconds=seconds)
            machine.threads_on(servers.SERVER_CORE, target.pid)  # after the load, which may have started some

    def measure_all(self) -> None:
        for turn in range(1, self._options.rounds + 1):
            self.taken.append([])
            for count in report.CONNECTIONS:
                for target in self._targets:
                    _say(f"round {turn}: {target.name} at {count}")
                    with self._watched(target.name, "calls") as noted:
                        noted.append(self._load(target, count))
                    self.results[target.name][count] += noted
            for target in self._targets:
                if target.ticks:
                    _say(f"round {turn}: {target.name}'s loop")
                    with self._watched(target.name, "ticks") as noted:
                        noted.append(self._ticking(target))

    def _load(self, target: servers.Target, connections: int) -> Load:
        return measure(target.port, target.requests, connections=connections, seconds=self._options.seconds)

    def _ticking(self, target: servers.Target) -> Load:
        """Under a load of its own: the ticks cost calls, which must not be missing from the figures."""
        os.kill(target.pid, signal.SIGUSR1)
        load = self._load(target, LOADED)
        self.late[target.name].append(servers.ticks_of(target))
        return load

    @contextmanager
    def _watched(self, name: str, what: str) -> Iterator[list[Load]]:
        """Notes a measurement, and what was taken from both cores meanwhile."""
        noted: list[Load] = []
        before = self._read()
        yield noted
        taken = [machine.taken(core, before[core], reading) for core, reading in self._read().items()]
        self.taken[-1].extend(taken)
        cores = {core: share.as_json() for core, share in noise.shares(taken).items()}
        made = {"round": len(self.taken), "server": name, "what": what, "taken": cores}
        self.measurements += [made | load.as_json() for load in noted]

    def _read(self) -> dict[str, machine.Reading]:
        ours = machine.family({target.pid for target in self._targets})
        return {
            "server": machine.read(servers.SERVER_CORE, ours),
            "load": machine.read(servers.LOAD_CORE, [os.getpid()]),
        }

    def noise(self) -> noise.Noise:
        every = [load for by_count in self.results.values() for loads in by_count.values() for load in loads]
        return noise.judged(
            self.taken,
            echo=[load.calls_per_s for load in self.results["echo"][LOADED]],
            load_cpu=max(load.own_cpu for load in every),
            also=_shortcomings(),
        )


def main() -> int:
    options = _options()
    os.sched_setaffinity(0, {servers.LOAD_CORE})
    with servers.raw() as raw:
        limit = measure(raw.port, raw.requests, connections=LOADED, seconds=min(options.seconds, 2.0))
    with ExitStack() as stack:
        targets = [stack.enter_context(servers.echo())]
        for synchronous in ("normal", "full"):
            targets += stack.enter_context(servers.odyssey(synchronous, runs=RUNS))
        skipped = []
        for name, start in (("wiremock", servers.wiremock), ("prism", servers.prism)):
            found = stack.enter_context(start()) if name not in options.skip else None
            targets.append(found) if found is not None else skipped.append(name)
        bench = Bench(targets, options)
        bench.warm()
        bench.measure_all()
    said = _report(bench, limit, skipped)
    print(json.dumps(said, indent=2) if options.json else report.table(said))
    return 0 if said["is_result"] or options.anyway else NOT_A_RESULT


def _options() -> argparse.Namespace:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warm", type=float, default=60.0, help="seconds of load on WireMock beforehand")
    parser.add_argument("--skip", action="append", default=[], choices=["wiremock", "prism"])
    parser.add_argument("--anyway", action="store_true", help="end with 0 though the machine was noisy")
    return parser.parse_args()


def _report(bench: Bench, limit: Load, skipped: list[str]) -> dict[str, Any]:
    found = bench.noise()
    ratios, blocked = report.ratios(bench.results), report.blocked(bench.late)
    return {
        "is_result": not found.reasons,
        "noise": found.as_json(),
        "machine": _machine(),
        "load": limit.as_json() | {"text": _limit(limit)},
        "figures": report.medians(bench.results),
        "ratios": ratios,
        "blocked": blocked,
        "goals": report.goals(ratios, blocked),
        "skipped": skipped,
        "measurements": bench.measurements,
    }


def _shortcomings() -> list[str]:
    """What no quiet hour would mend."""
    found = []
    if servers.SERVER_CORE == servers.LOAD_CORE:
        found.append("one core: the load and the servers shared it")
    if machine.filesystem(tempfile.gettempdir()) in ("tmpfs", "ramfs"):
        found.append("the databases were in memory, not on a disk: set TMPDIR")
    return found


def _machine() -> str:
    disk = machine.filesystem(tempfile.gettempdir())
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, data on {disk}"


def _limit(limit: Load) -> str:
    whole = limit.calls_per_s / limit.own_cpu
    return (
        f"load against a bare protocol at {LOADED}: {limit.calls_per_s:,.0f} calls/s with"
        f" {limit.own_cpu:.0%} of its core: about {whole:,.0f}/s at most"
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
