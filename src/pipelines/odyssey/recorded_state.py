"""The state of a backend as entities, for a recording: Python objects, tables of SQLite, SQLAlchemy models.

A snapshot is `{type: {id: fields}}`. Two snapshots give the changes between them.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .tools import as_json

State = dict[str, dict[str, dict[str, Any]]]
Snapshot = Callable[[], State]


def object_state(collections: Mapping[str, Mapping[Any, Any]]) -> Snapshot:
    """Entities that the backend keeps as objects: `object_state({"order": shop.orders})`.

    The keys are the ids. Values are mappings, dataclasses, pydantic models, or objects with attributes.
    """

    def snapshot() -> State:
        return {
            kind: {str(id): object_fields(each) for id, each in known.items()}
            for kind, known in collections.items()
        }

    return snapshot


def sqlite_state(connection: Any, tables: Mapping[str, str], *, id: str = "id") -> Snapshot:
    """Rows of SQLite tables: `sqlite_state(connection, {"order": "orders"})`, with the id in this column.

    It reads on the connection that it is given, so that it sees what is not committed yet.
    """

    def rows(table: str) -> dict[str, dict[str, Any]]:
        quoted = '"' + table.replace('"', '""') + '"'
        cursor = connection.execute(f"SELECT * FROM {quoted}")
        names = [column[0] for column in cursor.description]
        if id not in names:
            raise ValueError(f"the table {table} has no column {id}; its columns are {', '.join(names)}")
        found = (dict(zip(names, row, strict=True)) for row in cursor.fetchall())
        return {str(row[id]): plain_fields(row) for row in found}

    def snapshot() -> State:
        return {kind: rows(table) for kind, table in tables.items()}

    return snapshot


def sqlalchemy_state(session: Any, models: Mapping[str, type]) -> Snapshot:
    """Rows of SQLAlchemy models: `sqlalchemy_state(session, {"order": Order})`.

    It flushes the session, so that it sees what the backend changed and has not committed.
    """

    def rows(model: Any) -> dict[str, dict[str, Any]]:
        mapper = model.__mapper__
        keys = [mapper.get_property_by_column(column).key for column in mapper.primary_key]
        names = [each.key for each in mapper.column_attrs]
        found: dict[str, dict[str, Any]] = {}
        for row in session.query(model).all():
            id = "/".join(str(getattr(row, key)) for key in keys)
            found[id] = plain_fields({name: getattr(row, name) for name in names})
        return found

    def snapshot() -> State:
        session.flush()
        return {kind: rows(model) for kind, model in models.items()}

    return snapshot


def changes_between(before: State, after: State) -> list[dict[str, Any]]:
    """The updates that lead from one snapshot to the other, in the form of trace rows."""
    updates: list[dict[str, Any]] = []
    for kind in dict.fromkeys([*before, *after]):
        old, new = before.get(kind, {}), after.get(kind, {})
        for id in dict.fromkeys([*old, *new]):
            at = {"entity_type": kind, "id": id}
            if id not in old:
                updates.append({"op": "add", **at, "attrs": new[id]})
            elif id not in new:
                updates.append({"op": "remove", **at})
            elif old[id] != new[id]:
                updates.append({"op": "update", **at, **_field_changes(old[id], new[id])})
    return updates


def object_fields(value: Any) -> dict[str, Any]:
    """The fields of one entity, whatever holds them."""
    fields = as_json(value)
    if not isinstance(fields, dict):
        fields = {name: each for name, each in vars(value).items() if not name.startswith("_")}
    return plain_fields(fields)


def plain_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    plain = plain_json(fields)
    assert isinstance(plain, dict)
    return plain


def plain_json(value: Any) -> Any:
    """The value as JSON gives it back: tuples are lists, and what JSON lacks is text."""
    return json.loads(json.dumps(as_json(value), default=_text_of))


def _text_of(value: Any) -> Any:
    plain = as_json(value)
    if plain is not value:
        return plain
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _field_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    changed = {name: value for name, value in new.items() if name not in old or old[name] != value}
    gone: Iterable[str] = [name for name in old if name not in new]
    return {"set": changed, **({"unset": list(gone)} if gone else {})}
