"""Checks: whether the record that an id picks has what is given (`verify_customer(customer_id, birth_date)`),
or is in the state, or has the switch on, that the words ask about (`is_frozen(account_id)`)."""

from pipelines.core.english.inflection import participle
from pipelines.core.english.words import tokens, word_set
from pipelines.core.simulation.expr.make import NULL, all_of
from pipelines.core.simulation.reading.filters import condition_of, field_for, stated_in
from pipelines.core.simulation.reading.records import others_of, record_of
from pipelines.core.simulation.reading.replies import Source, properties_of, reply
from pipelines.core.simulation.reading.steps import Drafted
from pipelines.core.simulation.reading.tool_reading import Reading

_MAY = word_set("can may could might allowed able")
_ASKS = word_set("can is has may are does should must check was")


def read_check(reading: Reading) -> Drafted | None:
    bound = record_of(reading)
    slot = _slot(reading)
    if bound is None or slot is None or bound.collection.form != "table":
        return None
    given = [one for one in others_of(reading) if one.is_required]
    if given:
        tests = [condition_of(one, bound.noun, bound.collection) for one in given]
        kept = [field_for(one, bound.collection) for one in given]
        conditions = [one for one in tests if one is not None] if None not in (*tests, *kept) else []
    elif not _MAY & {*tokens(reading.tool.name), *tokens(reading.said.summary.lower())}:
        words = [word for word in tokens(reading.tool.name) if word not in _ASKS]
        conditions = stated_in(words, bound.collection, bound.noun)
    else:
        conditions = []  # what may be done has not been done
    if not conditions:
        return None
    truth = all_of(*conditions)
    source = Source(value=NULL, noun="result", fields={}, extra={slot: truth}, tells_done=False)
    answer = reply(source, reading.output, reading.arguments) if reading.output else {slot: truth}
    note = f"`{slot}` is worked out as `{truth}`, by the words of its name and arguments"
    return Drafted(steps=(*bound.steps, {"return": answer}), notes=(note,), confidence=0.8)


def _slot(reading: Reading) -> str | None:
    """The one yes-or-no of the reply."""
    if reading.output:
        slots = properties_of(reading.output).items()
        truths = [name for name, one in slots if isinstance(one, dict) and one.get("type") == "boolean"]
        return truths[0] if len(truths) == 1 else None
    if reading.name.op != "check" and not reading.asks_whether():
        return None
    if reading.name.op == "check" and reading.name.verb not in _ASKS:
        return participle(reading.name.verb)
    return "_".join(reading.name.nouns) or "result"
