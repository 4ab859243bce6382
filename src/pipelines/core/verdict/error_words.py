"""Why a run failed in plain words, for people who have not read the reference."""

from pipelines.wire.envelope import ErrorClass

ERROR_WORDS: dict[str, str] = {
    ErrorClass.AUTH_FAILED: "the agent refused the credentials",
    ErrorClass.AGENT_TIMEOUT: "the agent did not answer in time",
    ErrorClass.AGENT_5XX: "the agent answered with a server error",
    ErrorClass.AGENT_4XX: "the agent refused the request",
    ErrorClass.AGENT_EXCEPTION: "the agent's code raised an exception",
    ErrorClass.AGENT_BAD_RESPONSE: "the agent's reply is not a response envelope",
    ErrorClass.AGENT_UNREACHABLE: "the agent could not be reached",
    ErrorClass.PROXY_MISCONFIGURED: "no agent could call the proxy URL of this server",
    ErrorClass.RESPONSE_CONTRACT_VIOLATION: "the reply breaks the agent's response contract",
    ErrorClass.TRANSPORT_ERROR: "the connection to the agent broke",
    ErrorClass.SIMULATOR_FAULT: "the simulated user could not continue",
    ErrorClass.INTERRUPTED: "the server stopped while the run was in progress",
    ErrorClass.BUDGET_EXCEEDED: "the model budget of the batch is used up",
    ErrorClass.INTERNAL_ERROR: "the server failed",
}
LONGEST_DETAIL = 200  # characters behind the words; the run has all of it


def error_in_words(error_class: str | None, error: object = None) -> str | None:
    """`the agent could not be reached: connection refused (127.0.0.1:9100)`; `error` is error_json."""
    if error_class is None:
        return None
    words = ERROR_WORDS.get(error_class) or error_class.replace("_", " ")
    detail = error.get("detail") if isinstance(error, dict) else None
    line = str(detail or "").strip().partition("\n")[0]
    if not line:
        return words
    if error_class == ErrorClass.AGENT_UNREACHABLE and line[1:2].islower():
        line = line[0].lower() + line[1:]
    cut = line if len(line) <= LONGEST_DETAIL else f"{line[: LONGEST_DETAIL - 1]}…"
    return f"{words}: {cut}"


def nothing_was_reached(error_classes: dict[str, int], ended: int) -> bool:
    """Whether all runs that have ended failed because the agent could not be reached."""
    return ended > 0 and error_classes.get(ErrorClass.AGENT_UNREACHABLE, 0) == ended
