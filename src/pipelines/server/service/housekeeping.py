"""Pruning: by the server at start and every hour, and by a command, with or without a running server."""

import asyncio
import gc
import logging
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.code.prune_caches import CacheLimits, Pruned, prune
from pipelines.engine.evals.ingest_spans import prune_spans
from pipelines.engine.platform import timestamp
from pipelines.engine.worlds.prune_sessions import abandoned_before, prune_sessions
from pipelines.sandbox.prune_folders import prune_folders
from pipelines.server.config.settings import Settings
from pipelines.server.service.sandboxes import code_folder, environments_folder, workspaces_folder
from pipelines.storage.agents import code
from pipelines.storage.database.connection import Connection, transaction
from pipelines.storage.database.database import Database
from pipelines.storage.tasks.seed_sessions import AbandonedSession, abandoned_sessions, remove_session

EVERY_S = 3_600.0
_MEBIBYTE = 1024 * 1024
_log = logging.getLogger(__name__)


class Line(NamedTuple):
    """One item that was removed, or would be."""

    what: str
    bytes: int
    reason: str


class Housekeeping:
    """Prunes while the server runs."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._settings = settings
        self._database = database
        self._task = asyncio.create_task(self._every_hour())

    async def close(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _every_hour(self) -> None:
        while True:
            try:
                spans = await prune_spans(self._database, days=self._settings.telemetry_days)
                if spans:
                    _log.info("pruned %d spans of telemetry", spans)
                for line in await prune_now(self._settings, self._database):
                    _log.info("pruned %s (%.1f MiB): %s", line.what, line.bytes / _MEBIBYTE, line.reason)
            except Exception:  # noqa: BLE001 - a full disk, a database that is away: no reason to stop for good
                _log.warning("pruning failed; the next try is in an hour", exc_info=True)
            await asyncio.sleep(EVERY_S)
            gc.collect()  # while it works, the server hardly ever looks at all there is


async def prune_now(settings: Settings, database: Database) -> list[Line]:
    """Prunes now, inside the running server."""
    sessions = await prune_sessions(database, days=settings.session_days)
    return _lines(await prune(database, _directories(settings), _limits(settings)), sessions)


def would_prune(settings: Settings) -> list[Line]:
    """What pruning would remove from the disk of this node. Blocking: call it in a thread."""
    return _lines(Pruned(folders=prune_folders(_directories(settings), _limits(settings).rules(is_dry=True))))


def prune_once(settings: Settings, *, is_dry: bool) -> list[Line]:
    """Prunes for a command; raises Refused if the database is missing or cannot be opened."""
    folders = prune_folders(_directories(settings), _limits(settings).rules(is_dry=is_dry))
    orphans, sessions = _pruned_in_database(settings, is_dry=is_dry)
    return _lines(Pruned(folders=folders, orphans=orphans), sessions)


def _pruned_in_database(
    settings: Settings, *, is_dry: bool
) -> tuple[list[code.Orphan], list[AbandonedSession]]:
    if not settings.is_shared and not settings.database_path.exists():
        problem = Problem(
            path=str(settings.database_path), message="the database does not exist", hint="--data-dir"
        )
        raise Refused([problem], "the database")
    store = settings.store()
    try:
        connection = store.connect(read_only=is_dry)
        try:
            orphans = code.orphaned_archives(connection)
            for orphan in () if is_dry else orphans:
                is_left = True
                while is_left:
                    with transaction(connection):  # one part each, so that a server beside it goes on
                        is_left = code.remove_orphaned_part(connection, orphan.archive_hash)
            sessions = _pruned_sessions(settings, connection, is_dry=is_dry)
        finally:
            connection.close()
    except Exception as error:
        if not store.is_unavailable(error):
            raise
        raise Refused([Problem(path="the database", message=str(error).strip())], "the database") from None
    return orphans, sessions


def _pruned_sessions(settings: Settings, connection: Connection, *, is_dry: bool) -> list[AbandonedSession]:
    """Prunes abandoned sessions. A running server removes the texts of their worlds later."""
    if not settings.session_days:
        return []
    now = datetime.now(UTC)
    found = abandoned_sessions(connection, before=abandoned_before(settings.session_days, now))
    for session in () if is_dry else found:
        with transaction(connection):
            remove_session(connection, session.id, now=timestamp(now))
    return found


def _directories(settings: Settings) -> list[Path]:
    return [environments_folder(settings), code_folder(settings), workspaces_folder(settings)]


def _limits(settings: Settings) -> CacheLimits:
    return CacheLimits(days=settings.cache_days, limit_mb=settings.cache_limit_mb)


def _lines(pruned: Pruned, sessions: Sequence[AbandonedSession] = ()) -> list[Line]:
    lines = [Line(f"{one.path.parent.name}/{one.path.name}", one.bytes, one.reason) for one in pruned.folders]
    reason = "parts of an unfinished upload"
    lines += [Line(f"archive {one.archive_hash[:16]}", one.bytes, reason) for one in pruned.orphans]
    abandoned = "its seed session was abandoned"
    return lines + [Line(f"world of session {one.id}", one.characters, abandoned) for one in sessions]
