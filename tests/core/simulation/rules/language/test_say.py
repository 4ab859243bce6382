"""Canonical sentences: read again, each is the same rule."""

import json

from hypothesis import given, settings
from tests.core.simulation.rules.language.random_rules import rules
from tests.core.simulation.rules.language.worlds import meant, shop

from pipelines.core.simulation.rules.forms import as_json
from pipelines.core.simulation.rules.language.report import explain_stop
from pipelines.core.simulation.rules.language.to_sentence import to_sentence
from pipelines.core.simulation.rules.rule import Rule


def is_data(said: str) -> bool:
    """`cancel_order: {"form": …}`: a rule that the language has no words for."""
    _, _, body = said.partition(": ")
    return body.startswith("{") and "form" in json.loads(body)


@settings(max_examples=600)
@given(rule=rules)
def test_a_canonical_sentence_is_read_as_the_same_rule(rule: Rule) -> None:
    said = to_sentence(rule, shop().vocabulary)
    if is_data(said):
        return
    again = shop().read(said)
    assert again.is_read, f"{said}: {explain_stop(again, shop())}"
    assert meant(again.rules) == [(rule.tools, rule.form)], f"{as_json(rule)} is said as {said}"
