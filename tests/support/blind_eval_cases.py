"""Short ways to write down an output, a leaf and a cell."""

from pipelines.core.evals.scoring.observed import Observed

EXPECTED = {"action": "escalate_to_owner", "priority": "high", "include_rollback_plan": True}


def said(value):
    return Observed(output_class="object", value=value)
