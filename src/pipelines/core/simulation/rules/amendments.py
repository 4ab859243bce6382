"""Rules that change what another rule refuses: they are worked into that rule, tool by tool."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.language.text import sentence_key
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.rules.vocabulary import Vocabulary

_GUARDS = (r.Require, r.LimitCalls, r.After, r.RunningTotal)


def amended(rules: Sequence[Rule], tool: str, vocabulary: Vocabulary) -> tuple[Rule, ...]:
    """The rules of one tool, each as those after it amend it."""
    found = [*rules]
    for change in rules:
        if isinstance(change.form, r.Amend):
            found = [new for rule in found for new in _amended(rule, change, tool, vocabulary)]
    return tuple(found)


def problem_of(change: Rule, rules: Sequence[Rule]) -> str | None:
    """Why it can amend nothing."""
    if not isinstance(change.form, r.Amend):
        return None
    matching = [rule for rule in rules if is_meant(change.form, rule) and {*rule.tools} & {*change.tools}]
    if not matching:
        return f"no rule of {' or '.join(change.tools)} has the name or the sentence “{change.form.rule}”"
    is_plain = change.form.when is None and isinstance(change.form.answer, r.Refusal)
    if not any(
        isinstance(rule.form, _GUARDS) or (is_plain and isinstance(rule.form, r.NotFound))
        for rule in matching
    ):
        return f"the rule “{change.form.rule}” refuses no call"
    return None


def is_meant(form: r.Amend, rule: Rule) -> bool:
    names = {rule.name, sentence_key(rule.sentence)} - {None, ""}
    return not isinstance(rule.form, r.Amend) and bool({form.rule, sentence_key(form.rule)} & names)


def _amended(rule: Rule, change: Rule, tool: str, vocabulary: Vocabulary) -> Iterator[Rule]:
    form = change.form
    assert isinstance(form, r.Amend)
    original = rule.original or rule
    if not is_meant(form, rule) or not isinstance(rule.form, (*_GUARDS, r.NotFound)):
        yield rule
    elif isinstance(rule.form, r.NotFound):
        if form.when is None and isinstance(form.answer, r.Refusal):
            rule = replace(rule, form=replace(rule.form, answer=form.answer), original=original)
        yield rule
    else:
        requirement = r.as_requirement(rule.form, tool, vocabulary.id_argument)
        when = m.TRUE if form.when is None else form.when
        if form.when is not None:
            own = replace(requirement, need=m.any_of(requirement.need, when))
            yield replace(rule, form=own, original=original)
        if form.answer is not None:
            need = requirement.need if form.when is None else m.any_of(requirement.need, when.negated())
            yield replace(change, form=replace(requirement, need=need, answer=form.answer), original=original)
