"""What a tool's definition says of itself, as the hints of MCP: it goes before its name and description."""

from collections.abc import Iterator

from pipelines.core.simulation.domain.clauses import Claim
from pipelines.core.simulation.domain.side import Decision, NameKind
from pipelines.core.tools.tool_annotations import ToolAnnotations

_CERTAIN = 1.0
_AGAINST_THE_WORDS = (
    0.6  # that something is changed is certain; what, only as far as name or description say it
)
_UNSAID = 0.4


def settled(
    decision: Decision, hints: ToolAnnotations | None, kind: NameKind, claim: Claim, *, gives: bool
) -> Decision:
    """The side by its hints; without any, the one that was decided. A tool that changes something of which
    no word speaks is unclear, unless it may destroy what is there and is given more than ids: it updates."""
    if hints is None:
        return decision
    if hints.reads_only:
        return Decision("read", _CERTAIN)
    if not hints.changes_something:
        return decision
    if decision.side == "write":
        return decision._replace(sureness=_CERTAIN)
    if kind in ("writes", "may_write"):
        return Decision("write", _AGAINST_THE_WORDS)
    if claim.kind == "writes" or (hints.is_destructive and gives):
        return Decision("write", _AGAINST_THE_WORDS, takes_description=True)
    return Decision("unclear", _UNSAID)


def hint_sentences(hints: ToolAnnotations | None) -> list[str]:
    """What the definition says, wherever a plan is shown."""
    return [f"the definition says {said}" for said in _said(hints)] if hints is not None else []


def _said(hints: ToolAnnotations) -> Iterator[str]:
    if hints.reads_only:
        yield "it only reads (readOnlyHint)"
    elif hints.reads_only is False:
        yield "it changes something (readOnlyHint: false)"
    if hints.is_destructive and not hints.reads_only:
        yield "it may change or delete what is there (destructiveHint)"
    elif hints.is_destructive is False and not hints.reads_only:
        yield "it only adds (destructiveHint: false)"
    if hints.is_idempotent and not hints.reads_only:
        yield "the same call again changes nothing more (idempotentHint)"
    if hints.is_open_world is not None:
        yield (
            "it reaches things outside (openWorldHint)"
            if hints.is_open_world
            else "it reaches nothing outside (openWorldHint: false)"
        )
