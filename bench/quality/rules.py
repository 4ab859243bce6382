"""Sentences of behaviour texts, translated to rules by the model and held against what authors expect."""

import json
from collections.abc import Iterator
from functools import partial
from math import ceil

from sentence_scores import FIFTEENTH, scored_sentence

from pipelines.core.simulation.rules.language.read import sentences_in
from quality.cases import OPEN, RIGHT, WRONG, Answer, Asked, Question, Row, drawn

TITLE = "sentences"
SET = FIFTEENTH
AT_ONCE = 6  # sentences of one behaviour text
_OUTCOMES = {"reported": OPEN, "right": RIGHT, "wrong": WRONG}


def questions(count: int) -> Iterator[Question]:
    bodies = {path.stem: json.loads(path.read_text()) for path in sorted(SET.glob("*.json"))}
    for trade in drawn(bodies, ceil(count / AT_ONCE), "trades of rules"):
        sentences = [one for one in bodies[trade]["sentences"] if sentences_in(one["text"]) == [one["text"]]]
        some = drawn(sentences, min(count, AT_ONCE), f"rules/{trade}")
        count -= len(some)
        names = tuple(f"{trade}/{sentence['id']}" for sentence in some)
        yield Question(names, partial(_ask, bodies[trade], some, names))


async def _ask(body: Row, sentences: list[Row], names: tuple[str, ...], asked: Asked) -> list[Answer]:
    agent = await asked.org.agent(name=f"rules {names[0]}", tools_schema=body["tools"])
    texts = [one["text"] for one in sentences]
    row = {"user": "Do it.", "state": body["world"], "now": body["now"], "behavior": "\n".join(texts)}
    dataset = await asked.org.dataset(row, agent_id=agent["id"])
    told = await asked.author_job(f"/api/datasets/{dataset['id']}/rules/propose", {"sentences": texts})
    items = {item["sentence"]: item for item in told["items"]}
    return [
        _answer(body, sentence, name, items.get(sentence["text"]), told.get("error", "no answer"))
        for sentence, name in zip(sentences, names, strict=True)
    ]


def _answer(body: Row, sentence: Row, name: str, item: Row | None, why: str) -> Answer:
    """A proposal that fails its check cannot be accepted: its sentence stays as it was."""
    embedded = _OUTCOMES[scored_sentence(body, sentence).outcome]
    if item is None or item["status"] != "proposed":
        told = why if item is None else item["left_out"] or item["tried"]["problem"]
        return Answer(case=name, embedded=embedded, model=embedded, why=str(told)[:300])
    if not sentence["enforceable"]:
        return Answer(case=name, embedded=embedded, model=WRONG, why="rules for what no rule can enforce")
    under = scored_sentence(body, sentence, item["rules"])
    return Answer(case=name, embedded=embedded, model=_OUTCOMES[under.outcome], why=under.why[:300])
