"""What runs took: measured time, and tokens and cost as the agents report them. For code agents that report
nothing, the tokens that the model gateway counted. Values that nobody reported are shown as not reported."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from statistics import median
from typing import Any

from pipelines.cli.output.phrases import plural

TOKENS_IN, TOKENS_OUT, COST = "total_input_tokens", "total_output_tokens", "total_cost_usd"
GATEWAY = "model_gateway"
COUNTED = {TOKENS_IN: "input_tokens", TOKENS_OUT: "output_tokens"}


def usage_lines(runs: Sequence[Any]) -> list[str]:
    """Three lines: time, tokens, cost. `runs` are complete records, as in an export."""
    return [f"time: {_times(runs)}", f"tokens: {_tokens(runs)}", f"cost: {_cost(runs)}"]


def usage_json(runs: Sequence[Any]) -> dict[str, Any]:
    """The same as JSON; null for values that nobody reported."""
    took = sorted(_seconds_of(runs))
    return {
        "seconds_median": round(median(took), 3) if took else None,
        "seconds_longest": round(took[-1], 3) if took else None,
        TOKENS_IN: _sum(runs, TOKENS_IN),
        TOKENS_OUT: _sum(runs, TOKENS_OUT),
        COST: _sum(runs, COST),
        "reported_by": {key: len(_reported(runs, key)) for key in (TOKENS_IN, TOKENS_OUT, COST)},
    }


def seconds_text(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min"


def seconds_of(run: Any) -> float | None:
    """Seconds from the dispatch of a run to its end."""
    began, ended = run["dispatched_at"] or run["started_at"], run["ended_at"]
    if not began or not ended:
        return None
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()


def _seconds_of(runs: Sequence[Any]) -> Iterator[float]:
    return (took for run in runs if (took := seconds_of(run)) is not None)


def _times(runs: Sequence[Any]) -> str:
    took = sorted(_seconds_of(runs))
    if not took:
        return "no run was sent"
    if len(took) == 1:
        return f"{seconds_text(took[0])} for the run"
    late = took[min(len(took) - 1, int(len(took) * 0.95))]
    text = f"median {seconds_text(median(took))} a run, longest {seconds_text(took[-1])}"
    return text if len(took) < 20 else f"{text}, 95 % within {seconds_text(late)}"


def _tokens(runs: Sequence[Any]) -> str:
    given, tokens_out = _sum(runs, TOKENS_IN), _sum(runs, TOKENS_OUT)
    if given is None and tokens_out is None:
        return f"not reported (`{TOKENS_IN}`, `{TOKENS_OUT}` in the agent's metadata)"
    parts = [
        "in not reported" if given is None else f"{given:,.0f} in",
        "out not reported" if tokens_out is None else f"{tokens_out:,.0f} out",
    ]
    key = TOKENS_IN if given is not None else TOKENS_OUT
    return ", ".join(parts) + _share(runs, key) + _counted(runs, key)


def _cost(runs: Sequence[Any]) -> str:
    cost = _sum(runs, COST)
    if cost is None:
        return f"not reported (`{COST}` in the agent's metadata)"
    return f"{cost:,.4f} USD" + _share(runs, COST)


def _share(runs: Sequence[Any], key: str) -> str:
    """How many runs reported the value, if not all did."""
    known = len(_reported(runs, key))
    return "" if known == len(runs) else f" (reported by {known} of {plural(len(runs), 'run')})"


def _counted(runs: Sequence[Any], key: str) -> str:
    """How many runs the model gateway counted, and how many model calls reported nothing."""
    counted = [run for run in runs if _own(run, key) is None and _gateway_of(run)]
    if not counted:
        return ""
    whose = "" if len(counted) == len(runs) else f" for {plural(len(counted), 'run')}"
    silent = sum(_gateway_of(run).get("uncounted") or 0 for run in counted)
    at_least = f"; at least: {plural(silent, 'model call')} did not tell" if silent else ""
    return f" (counted by the model gateway{whose}{at_least})"


def _reported(runs: Sequence[Any], key: str) -> list[float]:
    """The agent's own figures, else those of the model gateway."""
    found = ((_own(run, key), _number(_gateway_of(run).get(COUNTED.get(key, "")))) for run in runs)
    return [value for pair in found if (value := pair[0] if pair[0] is not None else pair[1]) is not None]


def _own(run: Any, key: str) -> float | None:
    return _number((run["metadata"] or {}).get(key)) if isinstance(run["metadata"], dict) else None


def _gateway_of(run: Any) -> Any:
    metadata = run["metadata"] if isinstance(run["metadata"], dict) else {}
    counted = metadata.get(GATEWAY)
    return counted if isinstance(counted, dict) else {}


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _sum(runs: Sequence[Any], key: str) -> float | None:
    known = _reported(runs, key)
    return sum(known) if known else None
