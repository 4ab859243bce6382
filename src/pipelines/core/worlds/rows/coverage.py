"""What a set of rows is about, counted, and what none is about."""

from collections import Counter
from collections.abc import Iterable

from pipelines.core.tools.failure_rules import FIELDS_BY_TRIGGER
from pipelines.core.worlds.shapes import OUTCOMES, Coverage, DraftRow, Toolset


def coverage(rows: Iterable[DraftRow], toolset: Toolset) -> Coverage:
    """Every tool, outcome and trigger is named, those that no row has with 0."""
    kept = list(rows)
    tools = Counter(name for row in kept for name in {call.tool for call in row.reference_calls} | {row.tool})
    outcomes = Counter(row.outcome for row in kept)
    expected = Counter(row.expected_outcome or "none" for row in kept)
    triggers = Counter(str(rule.as_json()["trigger"]) for row in kept for rule in row.failure_rules)
    several = sum(
        len({f"{call.tool}/{call.arguments!r}" for call in row.reference_calls}) > 1 for row in kept
    )
    sentences = Counter(sentence for row in kept for sentence in row.sentences)
    missing = tuple(tool.name for tool in toolset.tools if not tools[tool.name])
    notes = []
    if missing:
        notes.append(f"No row asks for {', '.join(missing)}.")
    if not triggers["random"]:
        notes.append(
            "No row has a `random` failure: its effect depends on random draws of the finished task."
        )
    return Coverage(
        rows=len(kept),
        by_tool={tool.name: tools[tool.name] for tool in toolset.tools},
        by_outcome={name: outcomes[name] for name in OUTCOMES},
        by_expected_outcome={name: expected[name] for name in ("completion", "refusal")},
        by_trigger={name: triggers[name] for name in FIELDS_BY_TRIGGER},
        by_calls={"one": len(kept) - several, "several": several},
        by_sentence=dict(sentences),
        missing_tools=missing,
        notes=tuple(notes),
    )
