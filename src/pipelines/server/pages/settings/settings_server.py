"""/settings/server and /settings/data: the state of the server, its data and its retention."""

import asyncio
import os
import platform as machine
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fastapi import APIRouter, Request, Response

from pipelines import __version__
from pipelines.core.text.json_text import JsonObject
from pipelines.server.api.common import platform_of
from pipelines.server.config.settings import SETTINGS, Settings
from pipelines.server.pages.page import go, part
from pipelines.server.pages.settings.settings import settings_of, settings_page
from pipelines.server.pages.visitor import Keeper, Reader, Visitor
from pipelines.server.service.housekeeping import prune_now, would_prune
from pipelines.server.service.sandboxes import code_folder, environments_folder
from pipelines.storage.accounts.keys import is_only_org
from pipelines.storage.database.connection import Connection
from pipelines.storage.runs.batches import counts_of_batch, unfinished_batches
from pipelines.storage.runs.workers import signs_of_workers
from pipelines.wire.errors import StorageUnavailable

router = APIRouter()
MOST_FILES = 200_000  # looked at for a size; a larger folder says so
MOST_BATCHES = 200
LONGEST_S = 10.0
SECRET = frozenset(("api_key", "secret_key", "oidc_client_secret", "model_gateway"))
MASKED = "set (hidden)"
_MEBIBYTE = 1024 * 1024


class Setting(NamedTuple):
    variable: str
    value: str
    is_default: bool
    help: str


class FolderSize(NamedTuple):
    what: str
    path: str
    bytes: int
    is_whole: bool  # False where there was more than anybody waits for


@router.get("/settings/server")
async def server_page(request: Request, visitor: Reader) -> Response:
    return await _server_page(request, visitor)


async def _server_page(request: Request, visitor: Visitor, **code: Any) -> Response:
    platform, settings = platform_of(request), settings_of(request)
    try:
        work = await platform.database.read(lambda connection: _work(connection, visitor.org_id))
    except StorageUnavailable as error:
        work = {"error": error.message}
    live = platform.live_runs.counts()
    slots = [
        (use, kind.held, kind.waiting)
        for use, kind in (("dispatches", platform.dispatching), ("judgements", platform.judging))
    ]
    return await settings_page(
        request,
        visitor,
        "settings_server.html",
        "server",
        version=__version__,
        python=machine.python_version(),
        database="Postgres, shared by workers" if settings.is_shared else "SQLite, one file",
        synchronous=settings.synchronous,
        work=work,
        live=live,
        slots=slots,
        is_private=settings.is_private,
        public_url=settings.public_url,
        gateways=[each.as_json() for each in platform.model_gateway.upstreams.values()],
        limits=platform.model_gateway.limits,
        **code,
    )


@router.get("/settings/server/code")
async def code_part(request: Request, visitor: Reader) -> Response:
    """A separate fragment, because the first request tries out a sandbox."""
    platform = platform_of(request)
    code = await platform.code_mode_status()
    if not request.headers.get("hx-request"):
        return await _server_page(request, visitor, code=code.as_json())
    return await part(visitor, "settings_code.html", code=code.as_json())


@router.get("/settings/data")
async def data_page(request: Request, visitor: Keeper) -> Response:
    return await _data_page(request, visitor)


async def _data_page(request: Request, visitor: Visitor, **sizes: Any) -> Response:
    settings = settings_of(request)
    return await settings_page(
        request,
        visitor,
        "settings_data.html",
        "data",
        settings=list(_setting_rows(settings)),
        data_dir=str(settings.data_dir.resolve()),
        is_shared=settings.is_shared,
        telemetry_days=settings.telemetry_days,
        session_days=settings.session_days,
        cache_days=settings.cache_days,
        cache_limit_bytes=settings.cache_limit_mb * _MEBIBYTE,
        manual_run_s=settings.manual_run_ttl_s,
        **sizes,
    )


@router.get("/settings/data/sizes")
async def sizes_part(request: Request, visitor: Keeper) -> Response:
    """A separate fragment, because large folders take long to measure."""
    settings = settings_of(request)
    sizes, lines = await asyncio.gather(
        asyncio.to_thread(_sizes, settings), asyncio.to_thread(would_prune, settings)
    )
    figures: dict[str, Any] = {
        "sizes": sizes,
        "total": sum(each.bytes for each in sizes),
        "lines": lines,
        "freed": sum(line.bytes for line in lines),
    }
    if not request.headers.get("hx-request"):
        return await _data_page(request, visitor, **figures)
    return await part(visitor, "settings_sizes.html", **figures)


@router.post("/settings/data/prune")
async def prune(request: Request, visitor: Keeper) -> Response:
    lines = await prune_now(settings_of(request), platform_of(request).database)
    freed = sum(line.bytes for line in lines)
    return go("/settings/data", f"Pruned {len(lines)} things, {freed / _MEBIBYTE:.1f} MiB.")


def _work(connection: Connection, org_id: int) -> JsonObject:
    """The running work of the org. Of the whole server, only figures that reveal nothing about other orgs."""
    batches = unfinished_batches(connection, org_id)
    totals: dict[str, int] = {}
    for batch_id in batches[:MOST_BATCHES]:
        by_status = counts_of_batch(connection, batch_id)["by_status"]
        assert isinstance(by_status, dict)
        for status, number in by_status.items():
            totals[status] = totals.get(status, 0) + int(str(number))
    workers: JsonObject = {**signs_of_workers(connection)}
    is_alone = is_only_org(connection)
    return {"batches": len(batches), "runs": {**totals}, "workers": workers, "is_alone": is_alone}


def _setting_rows(settings: Settings) -> Iterator[Setting]:
    for each in SETTINGS:
        value = getattr(settings, each.field)
        is_default = str(value) == str(each.default)
        shown_value = str(value)
        if each.field in SECRET and value:
            shown_value = MASKED
        elif each.field == "database_url" and "@" in shown_value:  # a password may stand before it
            shown_value = f"{shown_value.split('://', 1)[0]}://…@{shown_value.rpartition('@')[2]}"
        yield Setting(each.variable, shown_value, is_default, each.help)


def _sizes(settings: Settings) -> list[FolderSize]:
    ends_at = time.monotonic() + LONGEST_S
    named: list[tuple[str, Path]] = []
    if not settings.is_shared:
        path = settings.database_path.resolve()
        named += [("database", path), ("its log", path.with_name(f"{path.name}-wal"))]
        named += [("queue", settings.durable_file)]
    named += [("unpacked code", code_folder(settings)), ("environments", environments_folder(settings))]
    return [_size(what, path, ends_at) for what, path in named if path.exists()]


def _size(what: str, path: Path, ends_at: float) -> FolderSize:
    if path.is_file():
        return FolderSize(what, str(path), path.stat().st_size, is_whole=True)
    total = files = 0
    folders = [str(path)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                files += 1
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    total += entry.stat(follow_symlinks=False).st_size
        if files > MOST_FILES or time.monotonic() > ends_at:
            return FolderSize(what, str(path), total, is_whole=False)
    return FolderSize(what, str(path), total, is_whole=True)
