"""Failure modes in plain words, for people who have not read the reference."""

from pipelines.core.verdict.verdict import FailureMode

MODE_WORDS: dict[str, str] = {
    FailureMode.NO_RESPONSE: "completed, but said nothing",
    FailureMode.INCORRECT_COMPLETION: "should have refused, but did not, or gave the wrong reason",
    FailureMode.WRONG_ACTION: "did something that the task does not allow",
    FailureMode.FALSE_CLAIM: "said something that the log disproves",
    FailureMode.CONSTRAINT_VIOLATED: "broke a tracked constraint",
    FailureMode.UNRECOVERED_FAILURE: "gave up on an injected failure",
    FailureMode.CORRECT_REFUSAL_NO_ORACLE: "was right to refuse, but the task declares no refusal",
    FailureMode.INCOMPLETE: "did not do what was asked",
}


def mode_in_words(mode: str | None) -> str | None:
    """`did something that the task does not allow`; a mode that is not known here, by its name."""
    if mode is None:
        return None
    return MODE_WORDS.get(mode) or mode.replace("_", " ")
