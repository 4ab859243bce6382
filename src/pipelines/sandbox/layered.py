"""A folder that many see as their own: read-only below, what each of them writes in memory above (overlayfs).

Used by the launcher, as root and in a mount namespace of the sandbox's own, before it drops its rights. Who
mounts as a normal user gets an overlay that cannot rename folders, which is no folder to work in. Standard
library only.
"""

import ctypes
import os
from typing import Any

#: Who owns shared folders on disk: nobody else, and no sandbox runs as this user but the one that fills one.
OWNER = 59_999

_CLONE_NEWUSER = 0x10000000
_MS_NOSUID, _MS_NODEV = 2, 4
# These three have the same numbers on every machine.
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_AT_FDCWD, _AT_EMPTY_PATH = -100, 0x1000
_OPEN_TREE_CLONE, _MOVE_MOUNT_F_EMPTY_PATH = 1, 4
_MOUNT_ATTR_RDONLY, _MOUNT_ATTR_IDMAP = 0x1, 0x100000
#: Folders can be renamed; nothing is looked up by a hidden name, copied by halves, or numbered anew.
_OPTIONS = "redirect_dir=on,index=off,metacopy=off,xino=off"
_libc = ctypes.CDLL(None, use_errno=True)


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


def mount_layered(below: int, stage: str, *, uid: int, size: int) -> None:
    """`{stage}/workspace` is then what the open folder `below` holds, as if `uid` owned it."""
    _clone_owned(below, f"{stage}/below", uid)
    room = f"{stage}/above"
    _mount("tmpfs", room, "tmpfs", f"mode=700,size={size}")
    for name, mode in (("changes", 0o755), ("work", 0o700)):
        os.mkdir(f"{room}/{name}")
        os.chmod(f"{room}/{name}", mode)
    os.chown(f"{room}/changes", uid, uid)
    layers = f"lowerdir={stage}/below,upperdir={room}/changes,workdir={room}/work"
    _mount("overlay", f"{stage}/workspace", "overlay", f"{layers},{_OPTIONS}")


def mount_memory(stage: str, *, uid: int, size: int) -> None:
    """`{stage}/workspace` is an empty folder of `uid` in memory, to be shown at more than one place."""
    _mount("tmpfs", f"{stage}/workspace", "tmpfs", f"mode=755,size={size},uid={uid},gid={uid}")


def _mount(kind: str, target: str, source: str, options: str) -> None:
    os.mkdir(target)
    given = (source.encode(), target.encode(), kind.encode(), _MS_NOSUID | _MS_NODEV, options.encode())
    _check(_libc.mount(*given), f"mount {kind}")


def _clone_owned(below: int, target: str, uid: int) -> None:
    """Read-only, and what OWNER owns on disk is `uid`'s: nothing on the disk is changed for that."""
    os.mkdir(target)
    tree = _call(_OPEN_TREE, below, b"", _AT_EMPTY_PATH | _OPEN_TREE_CLONE | os.O_CLOEXEC, what="open_tree")
    users = _mapping(OWNER, uid)
    attributes = _MountAttributes(attr_set=_MOUNT_ATTR_RDONLY | _MOUNT_ATTR_IDMAP, userns_fd=users)
    size = ctypes.sizeof(attributes)
    _call(_MOUNT_SETATTR, tree, b"", _AT_EMPTY_PATH, ctypes.byref(attributes), size, what="map owners")
    _call(_MOVE_MOUNT, tree, b"", _AT_FDCWD, target.encode(), _MOVE_MOUNT_F_EMPTY_PATH, what="move_mount")
    os.close(users)
    os.close(tree)


def _mapping(on_disk: int, seen: int) -> int:
    """A user namespace that says so; only a process can make one."""
    reader, making = os.pipe()
    over, going = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(going)
        if _libc.unshare(_CLONE_NEWUSER) == 0:
            os.write(making, b"!")
            os.read(over, 1)  # until the other end is closed
        os._exit(0)
    os.close(making)
    os.close(over)
    try:
        if not os.read(reader, 1):
            raise OSError("no user namespace can be made")
        for kind in ("uid", "gid"):
            with open(f"/proc/{child}/{kind}_map", "w") as file:
                file.write(f"{on_disk} {seen} 1")
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(reader)
        os.close(going)
        os.waitpid(child, 0)


def _call(number: int, *arguments: Any, what: str) -> int:
    return _check(_libc.syscall(number, *arguments), what)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result
