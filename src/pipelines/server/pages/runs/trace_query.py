"""What the address of a run's page says about its timeline: which lines, folded or not, words or bars."""

from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import urlencode

from fastapi import Depends

from pipelines.engine.runs.read_steps import Timeline, TimelineFilter

Only = Literal["", "changes", "failures"]
_DEFAULTS = {"only": "", "fold": "yes", "view": "steps"}


class TraceQuery(NamedTuple):
    only: Only = ""
    fold: Literal["yes", "no"] = "yes"
    view: Literal["steps", "time"] = "steps"

    @property
    def filter(self) -> TimelineFilter:
        return TimelineFilter(self.only, self.fold == "yes")

    @property
    def kept(self) -> str:
        """The part of an address that keeps this view, with a leading &."""
        query = urlencode({name: value for name, value in self._asdict().items() if value != _DEFAULTS[name]})
        return f"&{query}" if query else ""

    def link(self, **changes: str) -> str:
        """The same page with another view."""
        query = {
            name: value for name, value in (self._asdict() | changes).items() if value != _DEFAULTS[name]
        }
        return f"?{urlencode(query)}"


async def _trace_query(
    only: Only = "", fold: Literal["yes", "no"] = "yes", view: Literal["steps", "time"] = "steps"
) -> TraceQuery:
    return TraceQuery(only, fold, view)


ShownAs = Annotated[TraceQuery, Depends(_trace_query)]


def view_links(query: TraceQuery, s: str, timeline: Timeline) -> dict[str, Any]:
    """The switches above the timeline: (label, address, whether it is the present one)."""
    counts = {
        "changes": sum(1 for step in timeline.steps if step.changes),
        "failures": len(timeline.failures),
    }
    at = f"&s={s}"
    views = [("Steps", "steps"), ("Time", "time")]
    filters = [("all", ""), *((f"only {name} {counts[name]:,}", name) for name in ("changes", "failures"))]
    return {
        "views": [(label, query.link(view=name) + at, query.view == name) for label, name in views],
        "has_folds": query.fold == "no" or any(line.folded for line in timeline.lines),
        "filters": [(label, query.link(only=name) + at, query.only == name) for label, name in filters],
    }
