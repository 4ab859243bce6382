"""Tokens and cost of a run as its agent reports them in `metadata`."""

from typing import NamedTuple

from pipelines.core.agents.agent_reply import PLATFORM_KEY
from pipelines.core.text.json_text import Json


class ReportedUsage(NamedTuple):
    """None where nobody reports it: that is not zero."""

    tokens_in: float | None
    tokens_out: float | None
    cost_usd: float | None

    @property
    def tokens(self) -> float | None:
        known = [count for count in (self.tokens_in, self.tokens_out) if count is not None]
        return sum(known) if known else None


def reported_usage(metadata: Json) -> ReportedUsage:
    """If the agent reports no tokens, those that the gateway counted."""
    usage = metadata if isinstance(metadata, dict) else {}
    gateway = usage.get(PLATFORM_KEY)
    counted = gateway if isinstance(gateway, dict) else {}
    return ReportedUsage(
        _first_number(usage.get("total_input_tokens"), counted.get("input_tokens")),
        _first_number(usage.get("total_output_tokens"), counted.get("output_tokens")),
        _first_number(usage.get("total_cost_usd")),
    )


def _first_number(*values: Json) -> float | None:
    return next(
        (value for value in values if isinstance(value, int | float) and not isinstance(value, bool)), None
    )
