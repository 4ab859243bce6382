"""What was said in a run that has ended, read back for whoever judges it again."""

from pipelines.core.transcript import messages_from_stored
from pipelines.storage.runs import Ending, Run
from pipelines.wire.envelope import ErrorClass


def ending_of(run: Run) -> Ending:
    return Ending(
        status=run.status,
        final_response=run.final_response,
        metadata=run.metadata,
        error_class=run.error_class,
        error_json=run.error_json,
        judge_error=run.judge_error if run.error_class == ErrorClass.SIMULATOR_FAULT else None,
    )


def responses_of(run: Run) -> tuple[str, ...]:
    """What the agent said, turn by turn: of a conversation, the words before each next user message."""
    if run.final_response is None:
        return ()
    if run.mode != "dispatch" or not run.seed.is_conversation:
        return (run.final_response,)
    spoken: list[str] = []
    said = ""
    for message in messages_from_stored(run.messages or ()):
        if message.role == "user" and said:
            spoken.append(said)
            said = ""
        elif message.role == "assistant":
            said = message.text() or said
    return (*spoken, run.final_response) if said or not spoken else tuple(spoken)


def user_turns_of(run: Run) -> tuple[str, ...]:
    """What the user said, the instruction first. Who played the user is no matter."""
    if run.mode == "dispatch" and run.seed.is_conversation:
        messages = messages_from_stored(run.messages or ())
        told = tuple(message.text() for message in messages if message.role == "user")
        if told:
            return told
    return (run.seed.user_instruction,)
