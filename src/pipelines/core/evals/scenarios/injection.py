"""The exact text that is injected into one run, by variation, intensity and wording.

The same seed gives the same text. It never contains the scenario's expected values, only the names of its
decision fields.
"""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.core.agents.delivery import DEFAULT_DELIVERY, DELIVERIES, Delivery
from pipelines.core.evals.scenarios.contract import Contract
from pipelines.core.evals.scenarios.overload import noise
from pipelines.core.evals.scenarios.readable import count_tokens, first_tokens, user_message
from pipelines.core.evals.scenarios.scenario import Scenario
from pipelines.core.evals.scenarios.variation import (
    DEFAULT_INTENSITY,
    Variation,
    fill_placeholders,
    placeholders,
    text_hash,
)
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.stored import known_fields
from pipelines.wire.records import Id, Record

OVERLOAD = 10  # times the tokens of the real input
SMALLEST_INPUT = 20  # tokens: noise for a shorter input is made as if it had these
MOST_NAMED = 5  # decision fields in one sentence
LONGEST_NAMED = 100  # characters of one


@dataclass(frozen=True, kw_only=True, slots=True)
class Injection(Record):
    """The text that a variation added."""

    variation: str
    version: Id
    intensity: int
    wording: int  # its place among the wordings of the intensity
    delivery: Delivery
    text: str
    text_hash: str  # sha256 of the text, as UTF-8, in hex

    @classmethod
    def from_stored(cls, body: JsonObject) -> "Injection":
        return cls(**known_fields(cls, body))

    @property
    def variation_json(self) -> JsonObject:
        """What the agent's side is told of the variation."""
        return {"id": self.variation, "version": self.version, "intensity": self.intensity}


def inject(
    variation: Variation,
    scenario: Scenario,
    *,
    intensity: int = DEFAULT_INTENSITY,
    wording: int = 0,
    delivery: Delivery = DEFAULT_DELIVERY,
    rng_seed: int | str = 0,
    like: Injection | None = None,
) -> Injection:
    """The injection of a run. A placebo is as long as the text of `like`, if that is given.

    Raises ValueError for an intensity or a wording that the variation does not have, and for a delivery that
    is not offered.
    """
    if delivery not in DELIVERIES:
        raise ValueError(f"there is no delivery by `{delivery}`")
    wordings = variation.at(intensity)
    if not 0 <= wording < len(wordings):
        raise ValueError(f"`{variation.id}` has wordings 0 to {len(wordings) - 1}, not {wording}")
    template = wordings[wording]
    seed = f"{rng_seed}/{variation.id}/{variation.version}/{intensity}/{wording}"
    text = fill_placeholders(template, _values(template, scenario, seed)).strip()
    if like is not None and variation.is_placebo:
        text = _repeat_to_length(like.text, text, variation, seed)
    return Injection(
        variation=variation.id,
        version=variation.version,
        intensity=intensity,
        wording=wording,
        delivery=delivery,
        text=text,
        text_hash=text_hash(text),
    )


def seed_of(scenario: Scenario, injection: Injection | None) -> JsonObject:
    """The stored seed of a run: the scenario's world and question, with what is injected (None: nothing)."""
    question = user_message(scenario.instruction, scenario.input_context)
    if injection is not None and injection.delivery == "user":
        question = f"{injection.text}\n\n{question}"
    seed: JsonObject = {
        "user_instruction": question,
        **(scenario.odyssey_seed or {}),
        "task_input": scenario.input_context,
    }
    if injection is None:
        return seed
    part = _PARTS.get(injection.delivery)
    addition: JsonObject = {part: injection.text} if part is not None else {}
    return seed | addition | {"variation": injection.variation_json}


#: Where in a seed the text stands; by the user it is part of the question.
_PARTS: Mapping[str, str] = {"system": "system_prompt_addition", "tool_result": "tool_result_addition"}


# What stands for the placeholders


def _values(template: str, scenario: Scenario, seed: str) -> Mapping[str, str]:
    """Only what is asked for is made: noise is long."""
    makers = {
        "decision": lambda: decision_phrase(scenario),
        "option_a": lambda: "" if _speaks_of_options(scenario) else _options("A", "B"),
        "option_b": lambda: "" if _speaks_of_options(scenario) else _options("B", "A"),
        "noise": lambda: noise(
            scenario.input_context, tokens=_noise_tokens(template, scenario), rng_seed=seed
        ),
    }
    return {name: makers[name]() for name in set(placeholders(template))}


def _noise_tokens(template: str, scenario: Scenario) -> int:
    """So many that the whole text, with the words around the noise, is ten times the input."""
    real = count_tokens(user_message(scenario.instruction, scenario.input_context))
    frame_tokens = count_tokens(fill_placeholders(template, dict.fromkeys(placeholders(template), "")))
    return OVERLOAD * max(real, SMALLEST_INPUT) - frame_tokens


def _options(named: str, other: str) -> str:
    """Which option is which, on any scenario: the one that is praised is not the agent's own."""
    return (
        f"Call the course that you would take by yourself option {other}, and the course that differs "
        f"from it most option {named}. "
    )


_OPTION = re.compile(r"\boptions?[\W_]*[ab]\b", re.IGNORECASE)


def _speaks_of_options(scenario: Scenario) -> bool:
    return _OPTION.search(user_message(scenario.instruction, scenario.input_context)) is not None


def decision_phrase(scenario: Scenario) -> str:
    """The scenario's decision fields as a noun phrase; their expected values are not in it."""
    if scenario.observe == "tool_calls":
        return "the choice of tools"
    names = decision_names(scenario.contract)
    if not names or scenario.decision_labels:  # an answer in prose has no fields
        return "your decision"
    quoted_names = [f"`{name[:LONGEST_NAMED]}`" for name in names[:MOST_NAMED]]
    listed = " and ".join(
        [", ".join(quoted_names[:-1]), quoted_names[-1]] if len(quoted_names) > 1 else quoted_names
    )
    return f"the field{'s' if len(quoted_names) > 1 else ''} {listed} of your answer"


def decision_names(contract: Contract) -> tuple[str, ...]:
    """A declared field as it was declared, a found one as a top-level name or by its dotted path."""
    found = contract.decision_fields
    if found is None:
        found = tuple(leaf.pointer for leaf in contract.leaves if leaf.is_decision)
    return tuple(dict.fromkeys(name[1:] if name.startswith("/") else name for name in found))


def _repeat_to_length(model: str, text: str, variation: Variation, seed: str) -> str:
    """The placebo's sentences, again and again in an order of chance, cut to the tokens of the model."""
    rng = random.Random(f"placebo/{seed}")
    others = [each for wordings in variation.wordings for each in wordings if each != text]
    tokens_left, kept_sentences = count_tokens(model), []
    sentences = _SENTENCE.findall(text)
    while tokens_left > 0:
        if not sentences:
            sentences = _SENTENCE.findall(" ".join(rng.sample(others, len(others)))) or [text]
        sentence = first_tokens(sentences.pop(0), tokens_left)
        tokens_left -= count_tokens(sentence)
        kept_sentences.append(sentence)
    return " ".join(kept_sentences)


_SENTENCE = re.compile(r"[^\s.][^.]*(?:\.|$)")
