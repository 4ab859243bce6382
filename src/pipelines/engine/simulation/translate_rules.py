"""Rules for sentences of behaviour texts: a model proposes them, a person accepts or rejects them.

What is proposed is in force nowhere. What is accepted is in force in the runs that are made from then on, in
place of how the language reads the sentence.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from pipelines.core.models.model_question import ModelQuestion, Purpose
from pipelines.core.simulation.rule_translation.translation import (
    MOST_SENTENCES,
    Translation,
    number_problems,
    translation_question,
    translations,
)
from pipelines.core.simulation.rule_translation.trial import TranslationTrial, try_translation
from pipelines.core.simulation.rules.language.read import sentences_in
from pipelines.core.simulation.rules.language.text import sentence_key
from pipelines.core.text.authored import Fields, is_id
from pipelines.core.text.json_text import JsonObject, dumps, pointer
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.find import find_agent, find_dataset
from pipelines.engine.live.live_runs import MOST_READING_S
from pipelines.engine.live.time_limit import has_time
from pipelines.engine.model_calls.ask_models import Asker, CheckedAnswer
from pipelines.engine.models.choose_model import models_named_for
from pipelines.engine.platform import Platform
from pipelines.engine.simulation.author_jobs import Progress, start_job
from pipelines.engine.simulation.read_sentences import BehaviorText, behavior_texts, texts_of_dataset
from pipelines.storage.agents import authored_rules
from pipelines.storage.agents.agents import Agent
from pipelines.storage.agents.author_jobs import AuthorJob
from pipelines.storage.agents.authored_rules import PROPOSED, REFUSED, AuthoredRule, NewRule
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks.datasets import Dataset
from pipelines.wire.errors import Conflict, ModelFailed, NotFound

MOST_ACCEPTED = 1_000  # at once


class _TranslationRequest(NamedTuple):
    """What a model is asked about: the sentences that are named, else those that are not read."""

    agent: Agent
    task_id: int | None
    sentences: tuple[str, ...]


async def propose_rules(platform: Platform, org_id: int, dataset_id: int, body: JsonObject) -> AuthorJob:
    """Asks a model what it makes of sentences; each is tried. The answer of the job is the list of what is
    proposed. Raises ModelNotConfigured."""
    request = await _read_request(platform, org_id, dataset_id, body)
    named_models = await models_named_for(platform, request.agent, dataset_id)
    platform.models.needed(Purpose.AUTHOR, named_models)
    asker = Asker(org_id=org_id, subject=subject_of(dataset_id), named=named_models)
    texts = await platform.database.read(
        partial(
            behavior_texts,
            org_id=org_id,
            dataset_id=dataset_id,
            task_id=request.task_id,
            sentences=request.sentences,
        )
    )
    _refuse_unknown(request.sentences, {one for text in texts for one in text.wanted})
    work = partial(_propose_for_texts, platform, asker, dataset_id, request.agent, texts)
    return await start_job(platform, org_id, subject_of(dataset_id), work)


def subject_of(dataset_id: int) -> str:
    return f"dataset {dataset_id}"


async def _propose_for_texts(
    platform: Platform,
    asker: Asker,
    dataset_id: int,
    agent: Agent,
    texts: Sequence[BehaviorText],
    progress: Progress,
) -> JsonObject:
    new: list[NewRule] = []
    for at, text in enumerate(texts):
        await progress(at, len(texts))
        done = {rule.sentence for rule in new}
        new += await _propose(platform, asker, dataset_id, agent, text, done)
    await progress(len(texts), len(texts))
    now = platform.now()
    stored = await platform.database.write(
        lambda connection: authored_rules.rules_by_id(
            connection, authored_rules.add_proposals(connection, new, now=now)
        )
    )
    return {"items": [rule.as_json() for rule in stored]}


async def models_for(platform: Platform, dataset: Dataset) -> Mapping[Purpose, str]:
    """What the dataset and its agent name."""
    agent = await find_agent(platform, dataset.org_id, dataset.agent_id) if dataset.agent_id else None
    return await models_named_for(platform, agent, dataset.id)


async def read_rules(platform: Platform, org_id: int, dataset_id: int) -> list[AuthoredRule]:
    """Of the dataset, the newest first; then those of other datasets that hold for sentences of it."""
    await find_dataset(platform, org_id, dataset_id)

    def read(connection: Connection) -> list[AuthoredRule]:
        own = authored_rules.rules_of_dataset(connection, org_id=org_id, dataset_id=dataset_id)
        texts = [*texts_of_dataset(connection, org_id, dataset_id)]
        return [*own, *authored_rules.known_rules(connection, dataset_id=dataset_id, texts=texts)]

    return await platform.database.read(read)


async def dismiss_sentences(
    platform: Platform, org_id: int, dataset_id: int, sentences: Sequence[str], by: str
) -> list[AuthoredRule]:
    """These sentences are not to be enforced, by intent: in new runs they are as if they were not written."""
    await find_dataset(platform, org_id, dataset_id)
    now = platform.now()
    texts = await platform.database.read(partial(texts_of_dataset, org_id=org_id, dataset_id=dataset_id))
    known = {sentence_key(one) for text in texts for one in sentences_in(text)}
    _refuse_unknown(sentences, {one for one in sentences if sentence_key(one) in known})

    def dismiss(connection: Connection) -> list[AuthoredRule]:
        ids = authored_rules.dismiss(
            connection, dataset_id, org_id=org_id, sentences=sentences, by=by, now=now
        )
        return authored_rules.rules_by_id(connection, ids)

    return await platform.database.write(dismiss)


async def accept_rule(
    platform: Platform, org_id: int, dataset_id: int, rule_id: int, by: str
) -> AuthoredRule:
    (rule,) = await accept_rules(platform, org_id, dataset_id, [rule_id], by)
    return rule


async def accept_rules(
    platform: Platform, org_id: int, dataset_id: int, rule_ids: Sequence[int], by: str
) -> list[AuthoredRule]:
    """All or none: from now on they hold in new runs of the dataset."""
    ids = [*dict.fromkeys(rule_ids)]
    rules = await _find_rules(platform, org_id, dataset_id, ids)
    now = platform.now()
    decided = await platform.database.write(partial(authored_rules.accept, rules=rules, by=by, now=now))
    if decided:
        statuses = {rule.id: rule.status for rule in await _find_rules(platform, org_id, dataset_id, decided)}
        named = ", ".join(f"rule {id} is {status}" for id, status in statuses.items())
        raise Conflict(f"Nothing was accepted: {named}. Only proposed rules can be accepted.")
    return await _find_rules(platform, org_id, dataset_id, ids)


def read_dismissed(body: JsonObject) -> list[str]:
    """The sentences in the body of a request."""
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("sentences",))
    sentences = _read_sentences(fields)
    if not sentences and not problems:
        fields.refuse("sentences", "names no sentence")
    if problems:
        raise Refused(problems, "the request")
    return sentences


def _read_sentences(fields: Fields) -> list[str]:
    listed = fields.get("sentences")
    is_texts = isinstance(listed, list) and all(isinstance(one, str) and one.strip() for one in listed)
    if not isinstance(listed, list) or not is_texts or len(listed) > MOST_SENTENCES:
        fields.refuse("sentences", f"`sentences` is a list of at most {MOST_SENTENCES} sentences")
        return []
    return [*dict.fromkeys(str(one).strip() for one in listed)]


def read_rule_ids(body: JsonObject) -> list[int]:
    """The ids in the body of a request."""
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("rule_ids",))
    listed = fields.get("rule_ids")
    if not isinstance(listed, list) or not 0 < len(listed) <= MOST_ACCEPTED:
        fields.refuse("rule_ids", f"`rule_ids` is a list of 1 to {MOST_ACCEPTED:,} ids of rules")
        listed = []
    for at, one in enumerate(listed):
        if not is_id(one):
            problems.append(Problem(path=pointer(["rule_ids", at]), message="is not the id of a rule"))
    if problems:
        raise Refused(problems, "the request")
    return [one for one in listed if isinstance(one, int)]


async def reject_rule(
    platform: Platform, org_id: int, dataset_id: int, rule_id: int, by: str
) -> AuthoredRule:
    """Not in force any more, or never; runs that were made under it keep it."""
    (rule,) = await _find_rules(platform, org_id, dataset_id, [rule_id])
    now = platform.now()
    done = await platform.database.write(partial(authored_rules.reject, rule=rule, by=by, now=now))
    if not done:
        raise Conflict(f"Rule {rule_id} was decided on already.")
    (rule,) = await platform.database.read(partial(authored_rules.rules_by_id, ids=[rule_id]))
    return rule


async def _find_rules(
    platform: Platform, org_id: int, dataset_id: int, rule_ids: Sequence[int]
) -> list[AuthoredRule]:
    """Of the dataset, or of another and in force for its sentences."""
    await find_dataset(platform, org_id, dataset_id)
    rules = await platform.database.read(lambda connection: authored_rules.rules_by_id(connection, rule_ids))
    own = {rule.id: rule for rule in rules if (rule.org_id, rule.dataset_id) == (org_id, dataset_id)}
    if own.keys() != {*rule_ids}:
        known = await read_rules(platform, org_id, dataset_id)
        own |= {rule.id: rule for rule in known if rule.id in rule_ids}
    missing = [str(id) for id in rule_ids if id not in own]
    if missing:
        raise NotFound(f"Dataset {dataset_id} has no rule {', '.join(missing)}.")
    return [own[id] for id in rule_ids]


async def _read_request(
    platform: Platform, org_id: int, dataset_id: int, body: JsonObject
) -> _TranslationRequest:
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("agent_id", "task_id", "sentences"))
    task_id = fields.id("task_id", "a task") if fields.has("task_id") else None
    agent_id = fields.id("agent_id", "an agent") if fields.has("agent_id") else None
    sentences = _read_sentences(fields) if fields.has("sentences") else []
    dataset = await find_dataset(platform, org_id, dataset_id)
    agent_id = agent_id or dataset.agent_id
    if agent_id is None and not problems:
        fields.refuse("agent_id", "the dataset names no agent", "whose tools the text is about")
    if problems or agent_id is None:
        raise Refused(problems, "the request")
    agent = await find_agent(platform, org_id, agent_id)
    return _TranslationRequest(agent, task_id, tuple(sentences))


def _refuse_unknown(wanted: Sequence[str], found: Collection[str]) -> None:
    message, hint = "no behaviour text of the dataset has this sentence", "copy it from `GET …/sentences`"
    problems = [
        Problem(path=pointer(["sentences", at]), message=message, hint=hint)
        for at, one in enumerate(wanted)
        if one not in found
    ]
    if problems:
        raise Refused(problems, "the request")


class _Round(NamedTuple):
    """One answer of the model, and what came of it."""

    answer: CheckedAnswer
    made: Mapping[str, Translation]
    tried: Mapping[str, TranslationTrial]

    def failed(self) -> dict[str, str]:
        """Sentences whose rules cannot be accepted, and why."""
        problems = ((one, trial.problem) for one, trial in self.tried.items() if self.made[one].rules)
        return {one: problem for one, problem in problems if problem is not None}


async def _propose(
    platform: Platform, asker: Asker, dataset_id: int, agent: Agent, text: BehaviorText, done: Collection[str]
) -> list[NewRule]:
    """What failed its check goes back to the model once, with the reason."""
    read = partial(_question_about, agent, text, done)
    question, sentences = await platform.plan_readers.run(read, owner=asker.org_id)
    if question is None:
        return []
    first = await _ask_and_try(platform, asker, agent, text, question, sentences)
    rounds = dict.fromkeys(first.made, first)
    if failed := first.failed():
        again = question.again(dumps(first.answer.data).decode(), _said(first, failed))
        try:
            second = await _ask_and_try(platform, asker, agent, text, again, sentences)
        except ModelFailed:
            second = first
        rounds |= {one: second for one in failed if one in second.made}
    return [
        _new_rule(asker.org_id, dataset_id, of.answer, one, of.made[one], of.tried[one])
        for one, of in rounds.items()
    ]


async def _ask_and_try(
    platform: Platform,
    asker: Asker,
    agent: Agent,
    text: BehaviorText,
    question: ModelQuestion,
    sentences: Sequence[str],
) -> _Round:
    check = partial(number_problems, sentences=sentences)
    answer = await platform.models.ask(asker, question, check=check)
    proposals = translations(answer.data, sentences)
    tried = await platform.plan_readers.run(
        partial(_try_translations, agent, text, proposals), owner=asker.org_id
    )
    return _Round(answer, proposals, tried)


def _said(first: _Round, failed: Mapping[str, str]) -> list[Problem]:
    numbers = [(first.made[one].number, problem) for one, problem in failed.items()]
    return [Problem(path=f"sentence {number}", message=problem) for number, problem in numbers]


def _new_rule(
    org_id: int,
    dataset_id: int,
    asked: CheckedAnswer,
    sentence: str,
    made: Translation,
    tried: TranslationTrial,
) -> NewRule:
    return NewRule(
        org_id=org_id,
        dataset_id=dataset_id,
        sentence=sentence,
        rules=made.rules,
        left_out=made.left_out,
        tried=tried.as_json(),
        status=PROPOSED if tried.problem is None else REFUSED,
        model=asked.model,
        exchange_id=asked.exchange_id,
    )


def _try_translations(
    agent: Agent, text: BehaviorText, made: Mapping[str, Translation]
) -> dict[str, TranslationTrial]:
    """Each sentence by itself, on top of what is in force."""
    simulator = text.simulator(agent.definition, has_time(MOST_READING_S))
    now = text.seed.now
    return {sentence: try_translation(sentence, one, simulator, now=now) for sentence, one in made.items()}


def _question_about(
    agent: Agent, text: BehaviorText, done: Collection[str]
) -> tuple[ModelQuestion | None, tuple[str, ...]]:
    """The text is read when it is looked at: here, in the reader's thread and within its time."""
    simulator = text.simulator(agent.definition, has_time(MOST_READING_S))
    sentences_wanted = [one for one in text.wanted or simulator.unread if one not in done]
    sentences = tuple(sentences_wanted[:MOST_SENTENCES])
    if not sentences:
        return None, ()
    return translation_question(text.text, sentences, simulator, now=text.seed.now), sentences
