"""Code, credentials and output on SQLite and on Postgres alike, and from one node to another."""

import pytest

from pipelines.storage.accounts import credentials
from pipelines.storage.accounts.keys import add_org
from pipelines.storage.agents import code

pytestmark = pytest.mark.anyio
NOW, LATER = "2026-05-01T12:00:00.000000Z", "2026-05-01T12:01:00.000000Z"


async def test_an_archive_is_there_once_all_of_its_parts_are(database, monkeypatch):
    monkeypatch.setattr(code, "PART_BYTES", 100)
    archive = bytes(range(256)) * 3
    parts = list(code.parts_of(archive))
    assert len(parts) == 8
    for part in [*parts, parts[0]]:  # twice does no harm
        await database.write(lambda connection, part=part: code.add_part(connection, part))
    read = lambda: database.read(lambda connection: code.code_by_hash(connection, "tree"))  # noqa: E731
    assert await read() is None
    for archive_hash in (parts[0].archive_hash, "another archive of the same tree"):
        await database.write(
            lambda connection, name=archive_hash: code.add_code(
                connection, code_hash="tree", archive_hash=name, now=NOW
            )
        )
    assert await read() == archive
    assert await database.read(lambda connection: code.has_code(connection, "tree"))
    assert not await database.read(lambda connection: code.has_code(connection, "other"))


async def test_a_credential_keeps_its_place_when_its_value_changes(database):
    def store(connection, value, now):
        return credentials.set_credential(connection, org_id=1, name="KEY", sealed_value=value, now=now)

    await database.write(lambda connection: add_org(connection, "org", NOW))
    first = await database.write(lambda connection: store(connection, b"\0\1", NOW))
    second = await database.write(lambda connection: store(connection, b"\2", LATER))
    assert (first.id, first.sealed_value) == (second.id, b"\0\1")
    known = await database.read(lambda connection: credentials.credentials_by_name(connection, 1))
    assert known == {"KEY": second}
    assert (second.created_at, second.updated_at, second.sealed_value) == (NOW, LATER, b"\2")
    delete = credentials.delete_credential
    assert not await database.write(lambda connection: delete(connection, org_id=2, credential_id=first.id))
    assert await database.write(lambda connection: delete(connection, org_id=1, credential_id=first.id))


async def test_parts_without_code_are_pruned_one_by_one_and_others_never(database, monkeypatch):
    monkeypatch.setattr(code, "PART_BYTES", 100)
    kept, lost = list(code.parts_of(b"k" * 250)), list(code.parts_of(b"l" * 250))
    for part in [*kept, *lost]:
        await database.write(lambda connection, part=part: code.add_part(connection, part))
    name = kept[0].archive_hash
    has_parts = lambda connection: code.has_parts(connection, archive_hash=name, count=3)  # noqa: E731
    assert await database.write(has_parts)
    await database.write(
        lambda connection: code.add_code(connection, code_hash="tree", archive_hash=name, now=NOW)
    )
    assert await database.read(code.orphaned_archives) == [(lost[0].archive_hash, 3, 250)]
    remove = lambda connection: code.remove_orphaned_part(connection, lost[0].archive_hash)  # noqa: E731
    assert [await database.write(remove) for _ in range(4)] == [True, True, True, False]
    assert await database.read(code.orphaned_archives) == []
    assert not await database.write(lambda connection: code.remove_orphaned_part(connection, name))
    assert await database.read(lambda connection: code.code_by_hash(connection, "tree")) == b"k" * 250
    lost_again = lambda connection: code.has_parts(  # noqa: E731
        connection, archive_hash=lost[0].archive_hash, count=3
    )
    assert not await database.write(lost_again)
