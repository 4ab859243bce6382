"""What part a field plays in its record, found once for all that read or change it."""

from collections.abc import Collection, Iterator, Mapping

from pipelines.core.english.words import singular, tokens
from pipelines.core.simulation.domain.fields import Field, find_field

Path = tuple[str, ...]

_STATUS_NAMES = ("status", "state", "stage", "phase", "current_status", "lifecycle", "lifecycle_state")


def status_path(fields: Mapping[str, Field], spoken: Collection[str] = ()) -> Path | None:
    """Where a record keeps its state: at the top, else inside an object (`fulfillment.status`).

    An object that is spoken of comes first: `freeze_membership` is about `membership.state`.
    """
    inside = [
        (name, inner)
        for name, one in fields.items()
        if one.parts and one.keeps is None and (inner := _own_status(one.parts)) is not None
    ]
    named = next((path for path in inside if singular(tokens(path[0])[-1]) in spoken), None)
    if named is not None:
        return named
    own = _own_status(fields)
    if own is not None:
        return (own,)
    return inside[0] if len(inside) == 1 else None


def _own_status(fields: Mapping[str, Field]) -> str | None:
    named = (find_field(fields, name) for name in _STATUS_NAMES)
    ending = (name for name in fields if tokens(name)[-1:] in (("status",), ("state",)))
    # A state is told in words: an address's `state` and a shop's `status: {…}` are something else.
    return next((name for name in (*named, *ending) if name and _is_told_in_words(fields[name])), None)


def _is_told_in_words(field: Field) -> bool:
    return field.keeps is None and not field.parts and "boolean" not in field.kinds


def field_at(fields: Mapping[str, Field], path: Path) -> Field | None:
    found = fields.get(path[0])
    for name in path[1:]:
        found = found.parts.get(name) if found is not None else None
    return found


def states_of(fields: Mapping[str, Field], path: Path | None) -> tuple[str, ...]:
    """The states seen there, as the world spells them."""
    field = field_at(fields, path) if path is not None else None
    return tuple(value for value in field.values if isinstance(value, str)) if field is not None else ()


def valued_fields(fields: Mapping[str, Field]) -> Iterator[tuple[Path, str]]:
    """Every word that is a value of some field, with the place of the field."""
    for name, one in fields.items():
        if one.keeps is not None:
            continue
        yield from (((name,), value) for value in one.values if isinstance(value, str))
        for inner, part in one.parts.items():
            yield from (((name, inner), value) for value in part.values if isinstance(value, str))
