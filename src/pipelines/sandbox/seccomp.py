"""The system calls that code in a sandbox may not make, as a BPF program for the kernel.

A deny list: what breaks out of namespaces, what reaches the hypervisor or the kernel's less guarded corners,
and what keeps memory that no process owns (and so no watchdog sees). Only the standard library is needed.
"""

import errno
import platform
import struct
from typing import NamedTuple

# Of each call: its number on x86_64 and on aarch64; None where that machine does not have it.
_DENIED: dict[str, tuple[int | None, int | None]] = {
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # namespaces and mounts
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    # large and often attacked parts of the kernel
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "fanotify_init": (300, 262),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "modify_ldt": (154, None),
    "personality": (135, 92),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "mbind": (237, 235),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    # memory that stays when no process maps it
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    # the machine itself
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "iopl": (172, None),
    "ioperm": (173, None),
    "vhangup": (153, 58),
    "uselib": (134, None),
    "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
}


class _Machine(NamedTuple):
    column: int  # in _DENIED
    audit_arch: int
    clone: int
    socket: int
    socketpair: int
    setsockopt: int
    fcntl: int


_MACHINES = {
    "x86_64": _Machine(0, 0xC000003E, clone=56, socket=41, socketpair=53, setsockopt=54, fcntl=72),
    "aarch64": _Machine(1, 0xC00000B7, clone=220, socket=198, socketpair=199, setsockopt=208, fcntl=25),
}
_CLONE3 = 435  # one number on both; its flags lie in memory, where a filter cannot look
_NEWEST_KNOWN = 462  # mseal: later calls are unknown to this list, so they do not exist inside
_X32_CALLS = 0x40000000  # a second door to the same calls on x86_64
_NEW_NAMESPACE = 0x7E020000  # every CLONE_NEW… that clone takes
_FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6
_SOL_SOCKET = 1
_BUFFER_SIZES = (7, 8, 32, 33)  # SO_SNDBUF, SO_RCVBUF, and both by force
_F_SETPIPE_SZ = 1031

# struct seccomp_data: nr, arch, instruction_pointer, args[6]; the low half of an argument comes first.
_NR, _ARCH, _FIRST_ARGUMENT, _SECOND_ARGUMENT, _THIRD_ARGUMENT = 0, 4, 16, 24, 32
_LOAD, _EQUAL, _GREATER, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000


class UnknownMachine(Exception):
    """There is no table of system calls for this processor."""


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _unless(test: int, value: int, otherwise: int) -> bytes:
    """`otherwise` is returned when the test holds; else the program goes on."""
    return _instruction(test, value, 0, 1) + _instruction(_RETURN, otherwise)


def seccomp_program(machine: str | None = None) -> bytes:
    """The filter for `bwrap --seccomp`, for this machine unless another is named."""
    name = machine or platform.machine()
    if name not in _MACHINES:
        raise UnknownMachine(f"no system call table for {name}; there are: {', '.join(_MACHINES)}")
    here = _MACHINES[name]
    not_permitted = _FAIL | errno.EPERM
    not_there = _FAIL | errno.ENOSYS  # makes libraries fall back to the older call
    program = [
        _instruction(_LOAD, _ARCH),
        _instruction(_EQUAL, here.audit_arch, 1, 0),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, _NR),
        _unless(_GREATER, _X32_CALLS - 1, not_permitted),
        _unless(_GREATER, _NEWEST_KNOWN, not_there),
        _unless(_EQUAL, _CLONE3, not_there),
    ]
    numbers = (columns[here.column] for columns in _DENIED.values())
    program += [_unless(_EQUAL, number, not_permitted) for number in numbers if number is not None]
    program += _argument_tests(here, not_permitted)
    return b"".join([*program, _instruction(_RETURN, _ALLOW)])


def _argument_tests(here: _Machine, not_permitted: int) -> list[bytes]:
    """Calls that are fine with some arguments only. Each test ends the program for its own call."""
    of_clone = [
        _instruction(_LOAD, _FIRST_ARGUMENT),
        _unless(_ANY_BIT, _NEW_NAMESPACE, not_permitted),
        _instruction(_RETURN, _ALLOW),
    ]
    of_socket = [
        _instruction(_LOAD, _FIRST_ARGUMENT),
        *(_unless(_EQUAL, family, _ALLOW) for family in _FAMILIES),
        _instruction(_RETURN, not_permitted),
    ]
    # The kernel holds what a buffer holds, for no process. A size is a wish that it may cut short without a
    # word; here it is not heard at all, so that libraries which wish for more do not fail.
    not_heard = _FAIL | 0
    of_setsockopt = [
        _instruction(_LOAD, _SECOND_ARGUMENT),
        _instruction(_EQUAL, _SOL_SOCKET, 1, 0),
        _instruction(_RETURN, _ALLOW),
        _instruction(_LOAD, _THIRD_ARGUMENT),
        *(_unless(_EQUAL, option, not_heard) for option in _BUFFER_SIZES),
        _instruction(_RETURN, _ALLOW),
    ]
    of_fcntl = [
        _instruction(_LOAD, _SECOND_ARGUMENT),
        _unless(_EQUAL, _F_SETPIPE_SZ, not_permitted),
        _instruction(_RETURN, _ALLOW),
    ]
    bodies = (
        (here.clone, of_clone),
        (here.socket, of_socket),
        (here.socketpair, of_socket),
        (here.setsockopt, of_setsockopt),
        (here.fcntl, of_fcntl),
    )
    tests = []
    for number, body in bodies:
        code = b"".join(body)
        tests += [_instruction(_EQUAL, number, 0, len(code) // 8), code]
    return tests
