"""What a replay found, call by call, and the shares over its strata."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from pipelines.core.text.json_text import Json, JsonObject
from pipelines.wire.records import Record

LEAF_STRATA = ((0, 0, "0"), (1, 2, "1-2"), (3, 6, "3-6"), (7, 12, "7-12"), (13, None, "13+"))
SHOWN_MISMATCHES = 3  # per tool: enough to see a pattern


@dataclass(frozen=True, kw_only=True, slots=True)
class Mismatch(Record):
    """One call that came out differently, with where it differs."""

    task: str
    call: int  # 1 for the first of its task
    arguments: JsonObject
    recorded: Json
    simulated: Json
    differences: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class CallOutcome:
    """What became of one recorded call."""

    task: str
    number: int
    tool: str
    kind: str  # read, search, computed or write
    leaves_changed: int
    is_error: bool
    changes: bool  # the real call changed the ledger
    fm_free: bool
    fm_forced: bool
    cm_free: bool
    cm_forced: bool
    took_us: float
    mismatch: Mismatch | None  # of the forced call: its own fault, not an earlier call's

    @property
    def is_right(self) -> bool:
        """Reply and change, whatever the calls before it did."""
        return self.fm_forced and self.cm_forced


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally(Record):
    """Shares over some of the calls; None where there were none."""

    calls: int
    fm_free: float | None
    fm_forced: float | None
    cm_free: float | None
    cm_forced: float | None

    @classmethod
    def of(cls, outcomes: Iterable[CallOutcome]) -> "Tally":
        chosen = list(outcomes)
        return cls(
            calls=len(chosen),
            fm_free=share(one.fm_free for one in chosen),
            fm_forced=share(one.fm_forced for one in chosen),
            cm_free=share(one.cm_free for one in chosen),
            cm_forced=share(one.cm_forced for one in chosen),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    outcomes: tuple[CallOutcome, ...]
    final_states: Mapping[str, bool] = field(default_factory=dict)  # by task: the ledgers agree at the end

    def reads(self) -> list[CallOutcome]:
        return [one for one in self.outcomes if not one.changes and not one.is_error]

    def errors(self) -> list[CallOutcome]:
        return [one for one in self.outcomes if one.is_error]

    def writes(self) -> list[CallOutcome]:
        return [one for one in self.outcomes if one.changes]

    def by_kind(self) -> dict[str, Tally]:
        return self._by(("read", "search", "computed", "write"), lambda one: one.kind)

    def by_leaves(self) -> dict[str, Tally]:
        return self._by([name for _, _, name in LEAF_STRATA], lambda one: leaf_stratum(one.leaves_changed))

    def by_outcome(self) -> dict[str, Tally]:
        return self._by(("ok", "error"), lambda one: "error" if one.is_error else "ok")

    def by_tool(self) -> dict[str, Tally]:
        return self._by(dict.fromkeys(one.tool for one in self.outcomes), lambda one: one.tool)

    def worst_tools(self) -> list[str]:
        """Tools with a wrong reply or change, the most wrong calls first."""
        wrong: dict[str, int] = {}
        for one in self.outcomes:
            wrong[one.tool] = wrong.get(one.tool, 0) + (not (one.fm_forced and one.cm_forced))
        return sorted((tool for tool in wrong if wrong[tool]), key=lambda tool: -wrong[tool])

    def mismatches(self, tool: str) -> list[Mismatch]:
        found = [one.mismatch for one in self.outcomes if one.tool == tool and one.mismatch is not None]
        return found[:SHOWN_MISMATCHES]

    def as_json(self) -> JsonObject:
        times = sorted(one.took_us for one in self.outcomes)
        reads, errors, writes = self.reads(), self.errors(), self.writes()
        return {
            "calls": len(self.outcomes),
            "fm_all": share(one.fm_free for one in self.outcomes),
            "fm_reads": share(one.fm_free for one in reads),
            "fm_errors": share(one.fm_free for one in errors),
            "fm_all_forced": share(one.fm_forced for one in self.outcomes),
            "fm_reads_forced": share(one.fm_forced for one in reads),
            "fm_errors_forced": share(one.fm_forced for one in errors),
            "cm_writes_forced": share(one.cm_forced for one in writes),
            "cm_writes_free": share(one.cm_free for one in writes),
            "cm_all_forced": share(one.cm_forced for one in self.outcomes),
            "cm_all_free": share(one.cm_free for one in self.outcomes),
            "tasks_final_state": share(self.final_states.values()),
            "p50_us": percentile(times, 50),
            "p99_us": percentile(times, 99),
            "by_kind": _tallies(self.by_kind()),
            "by_leaves_changed": _tallies(self.by_leaves()),
            "by_outcome": _tallies(self.by_outcome()),
            "worst_tools": list(self.worst_tools()),
            "per_tool": {
                tool: tally.as_json() | {"mismatches": [one.as_json() for one in self.mismatches(tool)]}
                for tool, tally in self.by_tool().items()
            },
        }

    def _by(self, names: Iterable[str], key: Callable[[CallOutcome], str]) -> dict[str, Tally]:
        return {name: Tally.of(one for one in self.outcomes if key(one) == name) for name in names}


def _tallies(tallies: Mapping[str, Tally]) -> JsonObject:
    return {name: tally.as_json() for name, tally in tallies.items()}


def share(hits: Iterable[bool]) -> float | None:
    seen = list(hits)
    return sum(seen) / len(seen) if seen else None


def percentile(ordered: list[float], percent: int) -> float | None:
    """The smallest value that at least `percent` of them do not pass (nearest rank)."""
    if not ordered:
        return None
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def leaf_stratum(count: int) -> str:
    return next(name for low, high, name in LEAF_STRATA if count >= low and (high is None or count <= high))
