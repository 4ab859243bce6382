"""Transcripts for replay: what the agent did in its turn, told by itself or not, and then its words."""

import pytest

from pipelines.core.agents.transcript import (
    Message,
    TranscriptCall,
    after_turn,
    messages_from_stored,
    read_messages,
)

ASKED = Message(role="user", content="Refund 4521.")
CALLED = Message(role="assistant", tool_calls=(TranscriptCall(id="c1", name="refund_order", arguments={}),))
ANSWERED = Message(role="tool", tool_call_id="c1", content="{}")
SAID = Message(role="assistant", content="Refunded.")
PROMPT = Message(role="system", content="You are a support agent.")
EARLIER = (Message(role="user", content="Hello."), Message(role="assistant", content="Hi!"))

TURNS = {
    "no transcript": (None, [SAID]),
    "an empty one": ([], [SAID]),
    "only its own part": ([CALLED, ANSWERED, SAID], [CALLED, ANSWERED, SAID]),
    "with the question": ([ASKED, CALLED, ANSWERED, SAID], [CALLED, ANSWERED, SAID]),
    "the whole conversation": ([PROMPT, *EARLIER, ASKED, CALLED, ANSWERED, SAID], [CALLED, ANSWERED, SAID]),
    "without its last words": ([ASKED, CALLED, ANSWERED], [CALLED, ANSWERED, SAID]),
    "with a system prompt in its part": ([PROMPT, SAID], [SAID]),
    "ending on other words": (
        [Message(role="assistant", content="Let me see.")],
        [Message(role="assistant", content="Let me see."), SAID],
    ),
}


@pytest.mark.parametrize(("told", "own"), TURNS.values(), ids=TURNS)
def test_a_turn_is_what_stands_behind_the_last_question(told, own):
    history = [*EARLIER, ASKED]
    assert after_turn(history, told, "Refunded.") == [*history, *own]


def test_messages_come_back_from_their_stored_form() -> None:
    told = [
        {"role": "user", "content": [{"type": "text", "text": "Refund it."}]},
        {
            "role": "assistant",
            "tool_calls": [{"id": "1", "name": "n", "arguments": "{no json"}, {"id": "2", "name": "m"}],
            "thinking": [{"type": "thinking", "thinking": "hm"}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "done"},
    ]
    messages, problems = read_messages(told)
    assert problems == []
    assert messages_from_stored([message.as_json() for message in messages]) == messages
