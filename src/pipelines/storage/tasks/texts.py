"""Texts that may be large, seeds and worlds: each is kept once, named by its content, in parts.

A part is one short write, and all parts are there before a task refers to the text. It is loose until
somewhat later: what an upload that was cut off leaves behind is found by that, and removed at a start. So is
what a tool endpoint that was changed or deleted no longer needs.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pipelines.storage.database.connection import Connection, in_list, insert_many, some_of
from pipelines.storage.database.records import first_column

#: In one write: some milliseconds of the one writer, whom tool calls wait for. A character is up to 4 bytes;
#: a row, with its place in nine indexes, takes 30 to 70 µs.
SLICE_CHARACTERS = 512 * 1024
SLICE_ROWS = 200


class Text(NamedTuple):
    hash: str
    body: str


class Part(NamedTuple):
    hash: str
    number: int  # from 0
    body: str


def named(body: bytes) -> Text:
    return Text(hashlib.sha256(body).hexdigest(), body.decode())


def slices_of(texts: Iterable[Text]) -> Iterator[list[Part]]:
    """The parts of some texts, as many together as make one short write."""
    slice: list[Part] = []
    room = SLICE_CHARACTERS
    for part in (part for text in texts for part in _parts_of(text)):
        if slice and (len(part.body) > room or len(slice) == SLICE_ROWS):
            yield slice
            slice, room = [], SLICE_CHARACTERS
        slice.append(part)
        room -= len(part.body)
    if slice:
        yield slice


def _parts_of(text: Text) -> Iterator[Part]:
    for number, start in enumerate(range(0, len(text.body), SLICE_CHARACTERS)):
        yield Part(text.hash, number, text.body[start : start + SLICE_CHARACTERS])


def missing_texts(connection: Connection, hashes: Iterable[str]) -> set[str]:
    """Those of which not all parts are known to be there."""
    missing = set(hashes)
    for some in some_of(sorted(missing), SLICE_ROWS):
        marks = in_list(some)
        stored = connection.execute(f"SELECT hash FROM texts WHERE hash IN {marks} AND number = 0", some)
        loose = connection.execute(f"SELECT hash FROM loose_texts WHERE hash IN {marks}", some)
        missing -= {row[0] for row in stored} - {row[0] for row in loose}
    return missing


def add_parts(connection: Connection, parts: Iterable[Part], *, now: str) -> None:
    """Twice is as good as once: an upload that was cut off is sent again."""
    ordered = sorted(parts)  # two nodes that store the same texts wait for each other in one order
    let_go_of_texts(connection, {part.hash for part in ordered}, now=now)
    rows = [part._asdict() for part in ordered]
    insert_many(connection, "texts", rows, "ON CONFLICT (hash, number) DO NOTHING")


def text_of(connection: Connection, name: str) -> str:
    return texts_of(connection, [name])[name]


def text_size(connection: Connection, name: str) -> int:
    """In characters, without reading it."""
    row = connection.execute("SELECT SUM(LENGTH(body)) FROM texts WHERE hash = ?", (name,)).fetchone()
    return int(row[0] or 0)


def texts_of(connection: Connection, hashes: Iterable[str]) -> dict[str, str]:
    """Whole, by their names."""
    bodies: dict[str, list[str]] = {}
    for some in some_of(sorted(set(hashes)), SLICE_ROWS):
        for name, body in connection.execute(
            f"SELECT hash, body FROM texts WHERE hash IN {in_list(some)} ORDER BY hash, number", some
        ):
            bodies.setdefault(name, []).append(body)
    return {name: "".join(parts) for name, parts in bodies.items()}


def loose_texts(connection: Connection, *, before: str) -> list[str]:
    """What nobody has added a part of since."""
    statement = "SELECT hash FROM loose_texts WHERE since < ? ORDER BY hash"
    return first_column(connection, statement, (before,))


def texts_in_use(connection: Connection, hashes: Sequence[str]) -> set[str]:
    """Those of some that tasks, tool endpoints or seed sessions refer to, or recorded runs, which may have
    started from another world than their task's. Looks through all of them."""
    marks = in_list(hashes)
    rows = connection.execute(
        f"SELECT seed_hash FROM tasks WHERE seed_hash IN {marks}"
        f" UNION SELECT world_hash FROM tasks WHERE world_hash IN {marks}"
        f" UNION SELECT text_hash FROM eval_tasks WHERE text_hash IN {marks}"
        f" UNION SELECT seed_hash FROM task_oracles WHERE seed_hash IN {marks}"
        f" UNION SELECT content_hash FROM tool_endpoints WHERE content_hash IN {marks}"
        f" UNION SELECT world_hash FROM world_revisions WHERE world_hash IN {marks}"
        f" UNION SELECT world_hash FROM runs WHERE mode = 'recorded' AND world_hash IN {marks}",
        (*hashes, *hashes, *hashes, *hashes, *hashes, *hashes, *hashes),
    )
    return {row[0] for row in rows}


def keep_texts(connection: Connection, hashes: Sequence[str]) -> None:
    """Something refers to them now."""
    connection.execute(f"DELETE FROM loose_texts WHERE hash IN {in_list(hashes)}", hashes)


def let_go_of_texts(connection: Connection, hashes: Iterable[str], *, now: str) -> None:
    """Perhaps nothing refers to them any more, or not yet: that is looked up before they are removed."""
    rows = [{"hash": name, "since": now} for name in sorted(set(hashes))]
    insert_many(connection, "loose_texts", rows, "ON CONFLICT (hash) DO UPDATE SET since = excluded.since")


def remove_texts(connection: Connection, hashes: Sequence[str], *, before: str) -> None:
    """Unless somebody has added a part of them since."""
    condition = f"hash IN {in_list(hashes)} AND since < ?"
    statement = f"DELETE FROM loose_texts WHERE {condition} RETURNING hash"
    removed = first_column(connection, statement, (*hashes, before))
    connection.execute(f"DELETE FROM texts WHERE hash IN {in_list(removed)}", removed)
