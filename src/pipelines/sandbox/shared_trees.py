"""Workspaces as folders that all runs of a scenario share: made once, read-only, each run's changes above.

Whether this machine can is found out by doing it once, where the folders will lie: it takes root, overlayfs,
and a file system whose owners can be mapped. Elsewhere workspaces are unpacked into memory.
"""

import os
from pathlib import Path

from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.sandbox import layered, recipe
from pipelines.sandbox.held_folders import new_folder
from pipelines.sandbox.job import MEBIBYTE
from pipelines.sandbox.pool import NOBODY, SandboxPool
from pipelines.sandbox.workspace_box import REPOSITORY, BoxFailed, layout_of, open_box

SHARED = "tree"  # the folder, beside its repository
_PROBE_FILES = {"folder/file": "before"}
#: What agents do with folders: each failing would be a fault of ours in their eyes.
_TRY = (
    'set -e; grep -q " /job/workspace overlay " /proc/mounts; '
    "echo after > folder/file; mv -T folder moved; mkdir folder; chmod 700 moved/file; rm moved/file; "
    "git status"
)
_TRY_S = 30.0


class CannotShare(Exception):
    """A tree cannot be shared, here or at all; the message says why."""


async def probe_sharing(pool: SandboxPool, directory: Path) -> str | None:
    """None where folders below `directory` can be shared, else why not."""
    if not recipe.is_root():
        return "the server does not run as root, and an overlay of a normal user cannot rename folders"
    try:
        with new_folder(directory) as place:
            await _try_sharing(pool, place)
    except (BoxFailed, CannotShare, OSError) as error:
        return str(error)
    return None


async def _try_sharing(pool: SandboxPool, place: Path) -> None:
    for name in ("", "empty", "made"):
        (place / name).mkdir(exist_ok=True)
        (place / name).chmod(0o755)
    most, folder = MEBIBYTE, place / "made"
    layout = layout_of(
        given=place / "empty", dependencies=None, workspace_bytes=most, source_dir=place / "empty"
    )
    async with open_box(pool, layout, place=NOBODY, is_single=True) as box:
        await box.make_seed(archive=None, files=_PROBE_FILES)
        await box.make_baseline(most_files=len(_PROBE_FILES))
        await box.save_archives(folder, most_bytes=most)
    for file in folder.iterdir():
        file.chmod(0o644)
    shared = place / "shared"
    await share(
        pool,
        folder,
        shared,
        empty=place / "empty",
        most_files=len(_PROBE_FILES),
        most_bytes=most,
        place=NOBODY,
    )
    layout = layout_of(
        given=shared,
        dependencies=None,
        workspace_bytes=most,
        source_dir=place / "empty",
        shared=shared / SHARED,
    )
    async with open_box(pool, layout, place=NOBODY, is_single=True) as box:
        argv, env = ["/bin/sh", "-c", _TRY], {"PATH": recipe.PATH, "HOME": recipe.JOB_FOLDER}
        ran = await box.run(argv, env=env, timeout_s=_TRY_S, output_bytes=4_096)
    if ran.code != 0:
        raise CannotShare(f"an overlay was made, but a trial in it failed: {ran.output.strip()[-300:]}")
    if (shared / SHARED / "folder/file").read_text() != _PROBE_FILES["folder/file"]:
        raise CannotShare("a write to an overlay changed the folder below it")


async def share(
    pool: SandboxPool,
    archives: Path,
    made: Path,
    *,
    empty: Path,
    most_files: int,
    most_bytes: int,
    place: SlotHolder,
) -> None:
    """Makes the folder `made`: in it what the archives stand for as a folder, and the repository with what
    the file system says of it. Raises CannotShare, BoxFailed; what is there then the caller removes."""
    tree = made / SHARED
    for folder in (made, tree):
        folder.mkdir()
        folder.chmod(0o755)
    os.chown(tree, layered.OWNER, layered.OWNER)
    layout = layout_of(
        given=archives, dependencies=None, workspace_bytes=most_bytes, source_dir=empty, fills=tree
    )
    async with open_box(pool, layout, place=place, is_single=True) as box:
        try:
            await box.fill(most_entries=4 * most_files + 10_000)  # folders too, and what git keeps
        except BoxFailed as error:
            if error.is_ours:
                raise
            raise CannotShare(str(error)) from None
        await box.save_archives(made, most_bytes=most_bytes, names=[REPOSITORY])
    (made / REPOSITORY).chmod(0o644)
