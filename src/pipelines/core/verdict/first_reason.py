"""The first reason why a run did not pass, in one line, for lists."""

from typing import Any

from pipelines.core.text.json_text import Json

LONGEST_REASON = 300  # characters
_FIRST = ("broken", "open")  # statuses of findings, the one to read first


def first_reason(*, judge_error: str | None, error: Json, judgement: Json) -> str | None:
    """Why the judge or the run failed, else what the first finding that does not hold says. None for a run
    that passed or has not been judged."""
    detail = error.get("detail") if isinstance(error, dict) else None
    reason = judge_error or detail or _reason_in(judgement)
    return _one_line(reason) if isinstance(reason, str) and reason.strip() else None


def _reason_in(judgement: Json) -> Json:
    if not isinstance(judgement, dict) or judgement.get("verdict") == "PASS":
        return None
    listed = judgement.get("findings")
    findings: list[Any] = (
        [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    )
    for status in _FIRST:
        for finding in findings:
            if finding.get("status") == status and finding.get("says"):
                return str(finding["says"])
    return judgement.get("reasoning")


def _one_line(text: str) -> str:
    line = " ".join(text[: 4 * LONGEST_REASON].split())
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…"
