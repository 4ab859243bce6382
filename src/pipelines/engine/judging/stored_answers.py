"""What was said in a run that has ended, read back for whoever judges it again."""

from pipelines.core.agents.transcript import messages_from_stored
from pipelines.core.recordings.entries import turns_of
from pipelines.core.recordings.recorded_run import RECORDED, RecordingNote, note_in
from pipelines.storage.runs.runs import Ending, Run
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


def recording_of(run: Run) -> RecordingNote | None:
    """Of a run that was imported: what is known about its recording."""
    return note_in(run.metadata) if run.mode == RECORDED else None


def responses_of(run: Run) -> tuple[str, ...]:
    """What the agent said, turn by turn: of a conversation, the words before each next user message."""
    if run.final_response is None:
        return ()
    if not _has_turns(run):
        return (run.final_response,)
    if run.mode == RECORDED:
        _, responses = turns_of(messages_from_stored(run.messages or ()))
        return (*responses[:-1], run.final_response)
    spoken: list[str] = []
    text = ""
    for message in messages_from_stored(run.messages or ()):
        if message.role == "user" and text:
            spoken.append(text)
            text = ""
        elif message.role == "assistant":
            text = message.text() or text
    return (*spoken, run.final_response) if text or not spoken else tuple(spoken)


def user_turns_of(run: Run) -> tuple[str, ...]:
    """What the user said, the instruction first. Who played the user is no matter."""
    if _has_turns(run):
        messages = messages_from_stored(run.messages or ())
        turns = tuple(message.text() for message in messages if message.role == "user")
        if turns:
            return turns
    return (run.seed.user_instruction,)


def _has_turns(run: Run) -> bool:
    """Whether the transcript is that of a conversation; else it is what the agent tells of its one turn."""
    recording = recording_of(run)
    if recording is not None:
        return recording.is_conversation
    return run.mode == "dispatch" and run.seed.is_conversation
