"""The source of a code agent on its way in: fetched or unpacked, checked, stored once by its content.

What an agent version keeps of it is a record: where it came from, what it is called, how much it is.
"""

import asyncio
from dataclasses import dataclass
from typing import Any, NamedTuple

from pipelines.core.code.code_entry import MAX_ENTRY_BYTES, entry_problems
from pipelines.core.code.code_source import (
    DEFAULT_ENTRYPOINT,
    CodeOrigin,
    CodeRecord,
    GitSource,
    read_code_source,
)
from pipelines.core.code.code_tree import pack_tree
from pipelines.core.code.code_zip import CodeArchive, read_archive
from pipelines.core.text.json_text import Json, JsonObject, loads_own
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.platform import Platform
from pipelines.processes.pool import Job, TookTooMuch
from pipelines.sandbox.job import BadEntrypoint, Entrypoint, default_entrypoint, parse_entrypoint
from pipelines.sandbox.requirements import parse_requirements
from pipelines.storage.agents import code
from pipelines.storage.database.connection import Connection

REQUIREMENTS_FILE = "requirements.txt"
MOST_REQUIREMENTS = 400_000  # bytes: more than the characters that are read of it, however they are spelled
SMALL_ENTRY_BYTES = 4 * 1024  # read here: a text of this size that is made to be hard takes some 10 ms
PARSING_S = 5.0  # a megabyte of ordinary Python takes one
_WHAT = "the code"


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedCode:
    """Code that could be run, not yet stored."""

    archive: CodeArchive
    record: CodeRecord


class _FoundCode(NamedTuple):
    archive: CodeArchive
    origin: CodeOrigin
    place: str  # where the author would look for the entry file


async def check_code(platform: Platform, org_id: int, source: Json, entrypoint: str | None) -> CheckedCode:
    """The `code` object of an agent, made into an archive; Refused with everything wrong with it."""
    named, fetcher = _parse_entrypoint(entrypoint), platform.git
    read = read_code_source(
        source,
        entrypoint=named.file if named is not None else DEFAULT_ENTRYPOINT,
        allow_http=fetcher.allow_http,
    )
    if isinstance(read, GitSource):
        tree = await fetcher.fetch(read)
        archive = await asyncio.to_thread(lambda: read_archive(pack_tree(tree.files)))
        origin = CodeOrigin(source="git", git=read, commit=tree.commit)
        return await _check_archive(platform, org_id, _FoundCode(archive, origin, "/code"), named)
    archive = await asyncio.to_thread(lambda: read_archive(pack_tree(read.files)))
    place = "/code/text" if read.source == "paste" else "/code/files"
    return await _check_archive(
        platform, org_id, _FoundCode(archive, CodeOrigin(source=read.source), place), named
    )


async def check_zip(platform: Platform, org_id: int, raw: bytes, entrypoint: str | None) -> CheckedCode:
    named = _parse_entrypoint(entrypoint)
    archive = await asyncio.to_thread(read_archive, raw)  # half a gigabyte takes seconds
    return await _check_archive(
        platform, org_id, _FoundCode(archive, CodeOrigin(source="zip"), "/code"), named
    )


async def check_stored_code(
    platform: Platform, org_id: int, record: CodeRecord, entrypoint: str | None
) -> CheckedCode:
    """Stored code under another entrypoint; Refused if that cannot be called."""
    archive = await read_code(platform, record)
    known = await asyncio.to_thread(read_archive, archive)
    found = _FoundCode(known, record.origin, "/entrypoint")
    return await _check_archive(platform, org_id, found, _parse_entrypoint(entrypoint))


async def read_code(platform: Platform, record: CodeRecord) -> bytes:
    """The archive of a version's code."""
    raw = await platform.database.read(lambda connection: code.code_by_hash(connection, record.hash))
    assert raw is not None, "the code of an agent version is never deleted"
    return raw


async def store_code(platform: Platform, checked: CheckedCode) -> None:
    """Part by part, so that nobody waits long; code that is there already costs nothing."""
    archive, now = checked.archive, platform.now()
    if await platform.database.read(lambda connection: code.has_code(connection, archive.hash)):
        return
    parts = list(code.parts_of(archive.raw))
    for part in parts:

        def store(connection: Connection, part: code.Part = part) -> None:
            code.add_part(connection, part)

        await platform.database.write_part(store)
    whole = code.archive_hash(archive.raw)

    def finish(connection: Connection) -> bool:
        if not code.has_parts(connection, archive_hash=whole, count=len(parts)):
            return False
        code.add_code(connection, code_hash=archive.hash, archive_hash=whole, now=now)
        return True

    if not await platform.database.write(finish):
        # Pruned meanwhile, as the parts of an upload that was cut off.
        await store_code(platform, checked)


def requirements_problems(given: str | None, checked: CheckedCode | None) -> list[Problem]:
    """Of the agent's own word, else of the file in its tree. Whether the packages are there, a run shows."""
    in_tree = checked.archive.read(REQUIREMENTS_FILE, MOST_REQUIREMENTS) if checked is not None else None
    try:
        parse_requirements(given if given is not None else (in_tree or b"").decode("utf-8", "replace"))
    except Refused as refused:
        return refused.problems
    return []


async def _check_archive(
    platform: Platform, org_id: int, found: _FoundCode, named: Entrypoint | None
) -> CheckedCode:
    entry = named or default_entrypoint(found.archive.paths)
    if entry is None:
        message = "which file to call is not clear: there is no agent.py, main.py or run.py at the top"
        raise _refusal("/entrypoint", message, "such as agent.py, or bots/refund.py:run")
    source = found.archive.read(entry.file, MAX_ENTRY_BYTES)
    if source is None:
        raise _refusal("/entrypoint", f"there is no file `{entry.file}`", _file_hint(entry, found.archive))
    problems = await _entry_problems(platform, org_id, source, entry, found.place)
    if problems:
        raise Refused(problems, _WHAT)
    record = CodeRecord(
        origin=found.origin,
        hash=found.archive.hash,
        files=len(found.archive.paths),
        bytes=found.archive.unpacked_bytes,
        entrypoint=str(entry),
    )
    return CheckedCode(archive=found.archive, record=record)


async def _entry_problems(
    platform: Platform, org_id: int, source: bytes, entry: Entrypoint, place: str
) -> list[Problem]:
    """Python's own parser takes seconds, gigabytes or the whole process for a text that is made for it."""
    if len(source) <= SMALL_ENTRY_BYTES:
        return entry_problems(source, entry.file, function=entry.function, place=place)
    arguments: JsonObject = {"filename": entry.file, "function": entry.function, "place": place}
    try:
        job = Job("entry_file", arguments, PARSING_S, MAX_ENTRY_BYTES)
        (text,) = await platform.helpers.run(job, source, owner=org_id)
    except TookTooMuch as error:
        hint = "split it into several files, and keep long texts and tables in files of their own"
        return [Problem(path=place, message=f"`{entry.file}` was not read as Python: {error}", hint=hint)]
    problems: Any = loads_own(text)
    return [Problem(**problem) for problem in problems]


def _file_hint(entry: Entrypoint, archive: CodeArchive) -> str:
    """A folder packed with its own name is the usual slip."""
    name = entry.file.rpartition("/")[2]
    deeper = sorted(path for path in archive.paths if path.endswith(f"/{name}"))
    if deeper:
        return f"there is `{deeper[0][:200]}`: pack the content of the folder, or set `entrypoint`"
    return f"the files are {', '.join(f'`{path[:60]}`' for path in sorted(archive.paths)[:5])}"


def _parse_entrypoint(text: str | None) -> Entrypoint | None:
    if text is None:
        return None
    try:
        return parse_entrypoint(text)
    except BadEntrypoint as error:
        raise _refusal("/entrypoint", str(error)) from None


def _refusal(path: str, message: str, hint: str | None = None) -> Refused:
    return Refused([Problem(path=path, message=message, hint=hint)], _WHAT)
