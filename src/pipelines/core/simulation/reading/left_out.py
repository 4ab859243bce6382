"""What a plan that was read leaves open: fields of the output schema that it never answers, arguments that
make no difference to it. Each is said; a read that answers nothing else, or heeds less than it must be given,
is a guess."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.core.simulation.expr.make import expressions_in
from pipelines.core.simulation.reading.steps import Step
from pipelines.core.simulation.reading.tool_reading import Reading

GUESSED = 0.4


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOut:
    fields: tuple[str, ...]
    arguments: tuple[str, ...]
    is_guess: bool

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            *(
                f"`{name}` of its output schema is left out: nothing was found to answer it"
                for name in self.fields
            ),
            *(f"`{name}` makes no difference to what it does" for name in self.arguments),
        )


def left_out(reading: Reading, body: Sequence[Step]) -> LeftOut:
    fields, arguments = _unanswered(reading, body), _unheeded(reading, body)
    asked = {one.name for one in reading.arguments}
    has_answer = not fields or bool(_declared(reading) - {*fields} - asked)
    is_guess = reading.name.reads() and (not has_answer or bool(arguments))
    return LeftOut(fields=fields, arguments=arguments, is_guess=is_guess)


def _declared(reading: Reading) -> set[str]:
    properties = (reading.output or {}).get("properties")
    return set(properties) if isinstance(properties, dict) else set()


def _unanswered(reading: Reading, body: Sequence[Step]) -> tuple[str, ...]:
    """Where every reply of the plan is written out field by field: what none of them has."""
    replies = [step["return"] for step in body if "return" in step]
    written = [reply for reply in replies if isinstance(reply, dict) and "..." not in reply]
    if not replies or len(written) < len(replies):
        return ()
    return tuple(sorted(name for name in _declared(reading) if not any(name in reply for reply in written)))


def _unheeded(reading: Reading, body: Sequence[Step]) -> tuple[str, ...]:
    """Required, and nowhere in the plan."""
    read = {ref.keys for one in expressions_in(body) for ref in one.refs() if ref.root == "args"}
    if () in read:
        return ()  # taken as a whole
    heeded = {keys[0] for keys in read}
    return tuple(one.name for one in reading.arguments if one.is_required and one.name not in heeded)
