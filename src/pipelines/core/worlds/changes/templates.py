"""Sentences that this world's types, fields and values make possible, for an author to start from.

Each is followed before it is offered, so none of them is refused.
"""

from collections.abc import Iterator

from pipelines.core.ledger.ledger_schema import state_problems
from pipelines.core.text.json_text import Json
from pipelines.core.worlds.changes.refine import followed
from pipelines.core.worlds.draw import Draw
from pipelines.core.worlds.ground import Ground
from pipelines.core.worlds.outline import FieldOutline, TypeOutline
from pipelines.core.worlds.shapes import NotUnderstood
from pipelines.core.worlds.types.world_outline import types_in

MOST_TYPES = 4  # the largest
MOST_TEMPLATES = 12


def sentence_templates(ground: Ground, *, now: str) -> list[str]:
    """In turns from each type, so that a small list has something of each."""
    records = types_in(ground.state)
    types = sorted(ground.outline.types.values(), key=lambda own: -len(records.get(own.name, ())))
    found: list[str] = []
    waiting = [_candidates(ground, own) for own in types[:MOST_TYPES] if records.get(own.name)]
    while waiting and len(found) < MOST_TEMPLATES:
        candidates = waiting.pop(0)
        sentence = next((one for one in candidates if _can_be_followed(ground, one, now)), None)
        if sentence is not None:
            found.append(sentence)
            waiting.append(candidates)
    return found


def _can_be_followed(ground: Ground, sentence: str, now: str) -> bool:
    try:
        state, _ = followed(ground, sentence, Draw(sentence), now)
    except NotUnderstood:
        return False
    schema = ground.toolset.ledger_schema
    return state != ground.state and (schema is None or not state_problems(schema, state, ""))


def _candidates(ground: Ground, own: TypeOutline) -> Iterator[str]:
    records = types_in(ground.state)[own.name]
    first = next(iter(records))
    states = [value for value in (own.status.values if own.status else ()) if isinstance(value, str)]
    held = {str(record.get(own.status.name)) for record in records.values()} if own.status else set()
    rare = [*(value for value in states if value not in held), *states]
    if own.status is not None and rare:
        yield f"add 3 {own.many} with {own.status.name} {rare[0]}"
        yield f"make half of the {own.many} {rare[-1]}"
        yield f"set {own.status.name} of {own.noun} {first} to {rare[0]}"
    else:
        yield f"add 3 {own.many}"
    for link in own.references:
        other = ground.outline.types.get(link.refers_to or "")
        if other is None or not types_in(ground.state).get(other.name):
            continue
        owner = next(iter(types_in(ground.state)[other.name]))
        yield f"add 2 {own.many} of {other.noun} {owner}"
        yield f"spread the {own.many} over all {other.many}"
        yield f"remove 1 {other.noun} without {own.many}"
    for field in own.fields:
        value = _other_value(field, [record.get(field.name) for record in records.values()])
        if value is not None and field is not own.status:
            yield f"set {field.name} of {own.noun} {first} to {value}"
    for moment in own.moments[:1]:
        yield f"spread {moment.name} of the {own.many} over the last 6 months"
    yield f"remove 1 {own.noun}"


def _other_value(field: FieldOutline, held: list[Json]) -> str | None:
    """A number near those that the records have; other fields have no value that is sure to make sense."""
    numbers = [each for each in held if isinstance(each, int | float) and not isinstance(each, bool)]
    if field.kind not in ("whole", "number") or not numbers or field.refers_to or field.is_moment:
        return None
    return str(max(numbers))
