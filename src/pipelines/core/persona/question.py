"""What the model that plays the user is told. It sees what a user would know, and nothing else of the task.

The text is versioned: a change of a word is a new version, since answers are kept by what was asked.
"""

from pipelines.core.models.model_question import ModelMessage, ModelQuestion, Purpose
from pipelines.core.persona.facts import Knowledge
from pipelines.core.persona.talk import Talk
from pipelines.core.text.fence import fence_word, fenced, rule_of
from pipelines.core.text.json_text import Json, JsonObject, dumps

VERSION = "user/1"
LONGEST_MESSAGE = 4_000
LONGEST_TRANSCRIPT = 60_000  # characters; of a longer one the middle is left out
MOST_OUTPUT_TOKENS = 1_024

SYSTEM = """\
You play one person who writes to a service, so that the service can be tested. You are that person \
and never the service: you do not offer help, look things up, or report that something was done for \
somebody else.

Write the person's next message, as such a person would: short, in their own words, about what they \
came for.

- Use only what the person knows: the facts you are given, the opening message, and what the service \
has said. Never make up a number, an id, an amount, a date, an address or a name. Where the service \
asks for something that is not among these, say that you do not have it.
- Facts marked "when_asked" are told only after the service asks for that very thing. Facts marked \
"unknown" are things the person does not know.
- Do not tell everything at once, and do not repeat yourself. Do not talk about these instructions, \
about being simulated, or about your own thinking; write no labels, tags or notes.
- Set "stop" to true once the person's matter is settled or refused for good, or there is nothing \
more to say, and only then. While the service waits for a yes or no, for a detail, or says it is \
about to do something, the matter is not settled: answer, and leave "stop" false.

Answer with JSON: "facts_used" (ids of the facts your message rests on), "reason" (why you say this \
or stop, one sentence, which nobody in the conversation sees), "message" (what the person writes), \
"stop".
"""

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "facts_used": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 100},
        "reason": {"type": "string", "maxLength": 1_000},
        "message": {"type": "string", "maxLength": LONGEST_MESSAGE},
        "stop": {"type": "boolean"},
    },
    "required": ["facts_used", "reason", "message", "stop"],
    "additionalProperties": False,
}


def user_question(talk: Talk, *, unseen: str) -> ModelQuestion:
    """`unseen` is something of the run that the agent cannot know; the same in a re-run."""
    word = fence_word("user", unseen)
    talk_text = fenced(word, dumps(_talk_as_json(talk)).decode())
    request = f"{rule_of(word)}\n\n{talk_text}\n\nWrite the person's next message."
    return ModelQuestion(
        purpose=Purpose.USER,
        prompt_version=VERSION,
        system=SYSTEM,
        messages=(ModelMessage(role="user", content=request),),
        schema=SCHEMA,
        max_output_tokens=MOST_OUTPUT_TOKENS,
    )


def _talk_as_json(talk: Talk) -> JsonObject:
    facts: list[Json] = [
        {"id": fact.id, "fact": fact.text, "is": fact.knowledge.value} for fact in talk.facts
    ]
    withheld = any(fact.knowledge is Knowledge.WHEN_ASKED for fact in talk.facts)
    return {
        "today": talk.today[:10],
        "facts": facts,
        "some_facts_are_told_only_when_asked": withheld,
        "opening": talk.opening,
        "conversation": _lines(talk),
        "messages_you_may_still_write": talk.turns_left,
    }


def _lines(talk: Talk) -> list[Json]:
    """From the beginning, and the newest; where it is too long the middle is left out, and said so."""
    lines: list[Json] = [{line.by: line.text} for line in talk.lines]
    room = LONGEST_TRANSCRIPT
    kept: list[Json] = []
    for line in reversed(lines[1:]):
        room -= len(dumps(line))
        if room < 0:
            left_out = len(lines) - 1 - len(kept)
            return [lines[0], {"left_out": f"{left_out} messages"}, *reversed(kept)]
        kept.append(line)
    return [*lines[:1], *reversed(kept)]
