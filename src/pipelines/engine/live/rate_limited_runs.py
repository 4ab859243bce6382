"""Runs that were refused for their rate say so when they end: nothing of it is in their trace."""

from collections import OrderedDict

MOST_KEPT = 20_000  # runs; those that never end would stay for ever


class RateLimitedRuns:
    """Counted by the process whose proxy refused; the one that ends the run is mostly the same."""

    def __init__(self) -> None:
        self._refused: OrderedDict[int, list[int]] = OrderedDict()  # calls and events, by run

    def count_call(self, run_id: int) -> None:
        self._counts_of(run_id)[0] += 1

    def count_event(self, run_id: int) -> None:
        self._counts_of(run_id)[1] += 1

    def warnings(self, run_id: int) -> list[str]:
        calls, events = self._refused.get(run_id, (0, 0))
        texts = []
        if calls:
            texts.append(
                f"{_pluralize(calls, 'tool call')} refused for the rate limit (429 rate_limited): the agent"
                " may have waited, or given up; PIPELINES_PROXY_RATE_LIMIT sets the limit"
            )
        if events:
            texts.append(f"{_pluralize(events, 'trace event')} refused for the rate limit, and missing here")
        return texts

    def forget(self, run_id: int) -> None:
        self._refused.pop(run_id, None)

    def _counts_of(self, run_id: int) -> list[int]:
        counts = self._refused.setdefault(run_id, [0, 0])
        if len(self._refused) > MOST_KEPT:
            self._refused.popitem(last=False)
        return counts


def _pluralize(number: int, what: str) -> str:
    return f"1 {what} was" if number == 1 else f"{number:,} {what}s were"
