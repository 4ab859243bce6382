"""Stored code unpacked on this node: one read-only folder per content, made when a run first needs it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from pipelines.core.code.code_source import CodeRecord
from pipelines.core.code.code_zip import unpack_archive
from pipelines.engine.code.upload_code import read_code
from pipelines.engine.platform import Platform
from pipelines.sandbox.held_folders import HeldFolders, new_folder
from pipelines.sandbox.recipe import readable_to_all


class CodeFolders:
    """`directory` is this node's own; what no run uses is removed from it (`sandbox/prune_folders`)."""

    def __init__(self, platform: Platform, directory: Path) -> None:
        self._platform = platform
        self._directory = directory
        self._making: dict[str, asyncio.Task[Path]] = {}
        self._folders = HeldFolders(directory)

    @asynccontextmanager
    async def held(self, record: CodeRecord) -> AsyncIterator[Path]:
        """What `folder_of` gives, kept from being removed."""
        with self._folders.held(record.hash):
            yield await self.folder_of(record)

    async def folder_of(self, record: CodeRecord) -> Path:
        """Where the code of a version lies."""
        name = record.hash
        place = self._directory / name
        if await asyncio.to_thread(place.is_dir):
            return place
        making = self._making.get(name)
        if making is None:
            making = asyncio.create_task(self._make(record, place))
            self._making[name] = making
            making.add_done_callback(lambda _: self._making.pop(name, None))
        return await asyncio.shield(making)  # another run may wait for it too

    async def _make(self, record: CodeRecord, place: Path) -> Path:
        raw = await read_code(self._platform, record)
        await asyncio.to_thread(unpack, raw, place)
        return place


def unpack(raw: bytes, place: Path) -> None:
    """Whole or not at all, also when several processes do it at once: the first one's folder stays."""
    with new_folder(place.parent) as folder:
        for path, parts in unpack_archive(raw):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                file.writelines(parts)
        readable_to_all(folder)
        with suppress(OSError):  # not empty: another was faster
            folder.rename(place)
    if not place.is_dir():
        raise OSError(f"the code cannot be unpacked to {place}")
