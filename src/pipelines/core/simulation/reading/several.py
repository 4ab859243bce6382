"""One change to several records: `mark_billed(entry_ids)` does to each what `mark_billed(entry_id)` would."""

from collections.abc import Callable
from dataclasses import replace

from pipelines.core.english.words import singular
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.expr.make import NULL, TRUE, Draft, arg, call, put_in
from pipelines.core.simulation.expr.nodes import Name
from pipelines.core.simulation.reading.records import record_of
from pipelines.core.simulation.reading.replies import Source, reply
from pipelines.core.simulation.reading.steps import Drafted
from pipelines.core.simulation.reading.tool_reading import Reading

_EACH = "each_id"


def of_each(reading: Reading, one_by_one: Callable[[Reading], Drafted | None]) -> Drafted | None:
    """None where no list of ids is given, or an id beside it picks the record that the list belongs to."""
    many = [one for one in reading.arguments if one.is_required and _picks_many(one)]
    if len(many) != 1 or record_of(reading) is not None:
        return None
    one = replace(many[0], name=_one_of(many[0]), kind="text", schema={"type": "string"})
    rest = tuple(each for each in reading.arguments if each is not many[0])
    inner = replace(reading, arguments=(one, *rest))
    found = one_by_one(inner) if record_of(inner) is not None else None
    if found is None or not any(key in step for step in found.steps for key in ("set", "append", "remove")):
        return None
    steps = [step for step in found.steps if "return" not in step]
    body = put_in(steps, arg(one.name), Name(_EACH))
    answer: Draft = {"updated": arg(many[0].name)}
    if reading.output:
        count = call("len", arg(many[0].name))
        extra = dict.fromkeys(("updated", "count", "total"), count) | {"success": TRUE}
        answer = reply(Source(value=NULL, noun="result", fields={}, extra=extra), reading.output, rest)
    return Drafted(
        steps=({"for": _EACH, "in": arg(many[0].name), "do": body}, {"return": answer}),
        notes=found.notes,
        remarks=found.remarks,
        confidence=found.confidence,
    )


def _picks_many(argument: Argument) -> bool:
    return (
        argument.kind == "list" and replace(argument, name=_one_of(argument), kind="text").id_noun is not None
    )


def _one_of(argument: Argument) -> str:
    return "_".join((*argument.words[:-1], singular(argument.words[-1])))
