"""The filter, run by a small interpreter of its own: what each machine's program answers to a call."""

import errno
import struct

import pytest

from pipelines.sandbox.seccomp import _DENIED, UnknownMachine, seccomp_program

X86_64, AARCH64 = 0xC000003E, 0xC00000B7
ALLOWED, KILLED = 0x7FFF0000, 0x80000000
EPERM, ENOSYS = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS


def answer(machine: str, arch: int, number: int, *arguments: int) -> int:
    """What the kernel would do with the program."""
    program = seccomp_program(machine)
    data = struct.pack("=IIQ6Q", number, arch, 0, *arguments, *[0] * (6 - len(arguments)))
    at, value = 0, 0
    while True:
        code, if_true, if_false, operand = struct.unpack_from("=HBBI", program, at * 8)
        at += 1
        if code == 0x20:
            (value,) = struct.unpack_from("=I", data, operand)
        elif code == 0x06:
            return int(operand)
        else:
            holds = {0x15: value == operand, 0x25: value > operand, 0x45: bool(value & operand)}[code]
            at += if_true if holds else if_false


@pytest.mark.parametrize(("machine", "arch", "column"), [("x86_64", X86_64, 0), ("aarch64", AARCH64, 1)])
def test_denied_calls_are_denied_and_others_are_not(machine: str, arch: int, column: int) -> None:
    denied = {columns[column] for columns in _DENIED.values()} - {None}
    sockets = {"x86_64": {41, 53}, "aarch64": {198, 199}}[machine]
    for number in range(463):
        wanted = EPERM if number in denied | sockets else ENOSYS if number == 435 else ALLOWED
        assert answer(machine, arch, number) == wanted, number
    for number in (463, 500, 0x3FFFFFFF):
        assert answer(machine, arch, number) == ENOSYS
    assert answer(machine, arch, 0x40000000) == EPERM  # the x32 door


@pytest.mark.parametrize(
    ("machine", "arch", "clone", "socket"), [("x86_64", X86_64, 56, 41), ("aarch64", AARCH64, 220, 198)]
)
def test_arguments_decide_for_clone_and_socket(machine: str, arch: int, clone: int, socket: int) -> None:
    assert answer(machine, arch, clone, 0x01200011) == ALLOWED  # fork
    assert answer(machine, arch, clone, 0x003D0F00) == ALLOWED  # a thread
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert answer(machine, arch, clone, flag | 17) == EPERM
    families = {family for family in range(50) if answer(machine, arch, socket, family) == ALLOWED}
    assert families == {1, 2, 10}


@pytest.mark.parametrize(
    ("machine", "arch", "setsockopt", "fcntl"), [("x86_64", X86_64, 54, 72), ("aarch64", AARCH64, 208, 25)]
)
def test_buffers_keep_their_size(machine: str, arch: int, setsockopt: int, fcntl: int) -> None:
    not_heard = 0x00050000  # "done", and nothing was
    options = {name for name in range(100) if answer(machine, arch, setsockopt, 3, 1, name) == not_heard}
    assert options == {7, 8, 32, 33}
    assert all(answer(machine, arch, setsockopt, 3, 6, name) == ALLOWED for name in range(100))  # of TCP
    refused = {name for name in range(2_000) if answer(machine, arch, fcntl, 3, name) == EPERM}
    assert refused == {1031}


def test_calls_of_another_processor_kill() -> None:
    assert answer("x86_64", 0x40000003, 1) == KILLED  # 32-bit calls on a 64-bit kernel
    assert answer("aarch64", X86_64, 1) == KILLED


def test_an_unknown_machine_has_no_filter() -> None:
    with pytest.raises(UnknownMachine, match="riscv64"):
        seccomp_program("riscv64")
