"""A script, run by root: becomes a normal user who can reach this Python and these tests, and runs pytest.

Folders that are closed to others (an interpreter under /root) are shown through, in mounts of its own.
"""

import os
import subprocess
import sys
from pathlib import Path

from boxes import go_private

UID = 12_345
HERE = Path(__file__).parent


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


def closed_above(path: Path) -> Path | None:
    """The topmost folder on the way that others may not walk through."""
    for folder in [*reversed(path.parents), path]:
        if not folder.stat().st_mode & 0o001:
            return folder
    return None


def show(path: Path) -> None:
    closed = closed_above(path)
    if closed is None:
        return
    if closed == path:
        sys.exit(f"{path} is itself closed to other users")
    handle = os.open(path, os.O_PATH)
    mount("-t", "tmpfs", "-o", "mode=755", "none", str(closed))
    path.mkdir(parents=True, mode=0o755)
    # -c: the handle is the folder from before; its name now leads to the empty one.
    shown = ["mount", "-c", "--bind", f"/proc/self/fd/{handle}", str(path)]
    subprocess.run(shown, check=True, pass_fds=[handle])


def main() -> None:
    folder = sys.argv[1]
    go_private()
    mount("-t", "tmpfs", "-o", "mode=777", "none", folder)
    shown: list[Path] = []
    for path in (Path(sys.base_prefix).resolve(), HERE.parent.parent, Path(sys.prefix)):
        if not any(path.is_relative_to(other) for other in shown):
            show(path)
            shown.append(path)
    os.setgroups([])
    os.setresgid(UID, UID, UID)
    os.setresuid(UID, UID, UID)
    variables = {
        "HOME": folder,
        "PATH": os.environ["PATH"],
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANG": "C.UTF-8",
    }
    options = ["-x", "-p", "no:xdist", f"--basetemp={folder}/pytest", *sys.argv[2:]]
    os.chdir(HERE.parent.parent)
    os.execve(sys.executable, [sys.executable, "-m", "pytest", *options], variables)


if __name__ == "__main__":
    main()
