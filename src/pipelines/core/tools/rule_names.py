"""Finds undeclared tools and flags in failure rules.

Such a rule never fires, and its run looks as if the agent had handled the failure.
"""

from collections.abc import Collection, Iterator, Sequence

from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.text.authored import did_you_mean
from pipelines.core.text.problems import Problem
from pipelines.core.tools.failure_rules import ANY_TOOL, AfterStateChange, FailureRule

_PATH = "/failure_rules"


def undeclared_names(
    rules: Sequence[FailureRule],
    *,
    tools: Collection[str] | None,
    ledger_schema: LedgerSchema | None,
    path: str = _PATH,
) -> Iterator[Problem]:
    """Tools that the agent does not declare, and flags that a closed ledger schema does not."""
    for index, rule in enumerate(rules):
        if tools is not None and rule.tool != ANY_TOOL and rule.tool not in tools:
            hint = did_you_mean(rule.tool, tools) or f'use a declared tool, or "{ANY_TOOL}" for any'
            message = f"the agent declares no tool `{rule.tool}`"
            yield Problem(path=f"{path}/{index}/tool", message=message, hint=hint)
        if not isinstance(rule, AfterStateChange) or ledger_schema is None:
            continue
        if not ledger_schema.allows_flag(rule.condition):
            hint = did_you_mean(rule.condition, ledger_schema.flag_values) or "add it to `flags.values`"
            message = f"the ledger schema's flags do not include `{rule.condition}`"
            yield Problem(path=f"{path}/{index}/condition", message=message, hint=hint)
