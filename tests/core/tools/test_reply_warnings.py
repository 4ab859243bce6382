"""What a run says of simulated replies that failed their check."""

from pipelines.core.text.json_text import dumps
from pipelines.core.tools.reply_warnings import reply_warnings
from pipelines.core.tools.trace_row import ON_SECOND_TRY, TOOL_CALL, TraceRow

ERRORS = [{"path": "/status", "message": "is 'paid', but order 1 has 'shipped'", "hint": "say so"}]
NOTES = ["answered from the ledger: /status is 'paid', but order 1 has 'shipped'"]


def row(sequence: int, is_valid: int | None, source: str = "odyssey", tool: str = "get_order") -> TraceRow:
    blank = TraceRow(1, sequence, TOOL_CALL, tool, source, *[None] * (len(TraceRow._fields) - 5))  # type: ignore[arg-type]
    told = {0: {"errors": ERRORS}, ON_SECOND_TRY: {"errors": [], "notes": NOTES}}.get(is_valid or 0, {})
    return blank._replace(is_valid=is_valid, validation=dumps(told).decode())


def test_replies_that_passed_and_what_was_never_checked_are_not_worth_a_word() -> None:
    assert reply_warnings([row(1, 1), row(2, None, "error"), row(3, None, "injected")]) == []


def test_a_live_reply_is_the_truth_whatever_the_ledger_says() -> None:
    assert reply_warnings([row(1, 0, "passthrough")]) == []


def test_each_tool_and_each_fate_is_told_once_with_its_first_reason() -> None:
    rows = [row(n, 0, "error") for n in range(1, 8)] + [row(8, ON_SECOND_TRY), row(9, 0, tool="other")]
    assert reply_warnings(rows) == [
        "get_order: 7 simulated replies failed the check, so the agent got an error instead"
        " (trace rows 1, 2, 3, 4, 5, …). /status is 'paid', but order 1 has 'shipped' (say so)",
        (
            "get_order: 1 simulated reply failed the first check and passed on the second try (trace "
            f"row 8). {NOTES[0]}"
        ),
        "other: 1 simulated reply failed the check (trace row 9)."
        " /status is 'paid', but order 1 has 'shipped' (say so)",
    ]
