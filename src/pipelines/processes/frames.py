"""Messages between the server and a helper process: a kind, a length, and so many bytes."""

import socket
import struct
from typing import NamedTuple

PART = b"P"  # a part of the result; the last one is followed by END
END = b"E"  # JSON: whether the process ends now
REFUSED = b"R"  # JSON: the problems of the author
UNREADABLE = b"U"  # why the text cannot be read, in words
FAILED = b"F"  # a traceback: our own fault
OUT_OF_MEMORY = b"M"
ASKED = b"A"  # JSON: which job, with what
INPUT = b"I"  # what is to be read; empty where it comes as a file

_HEAD = struct.Struct(">cQ")
_PIECE = 1024 * 1024


class Frame(NamedTuple):
    kind: bytes
    body: bytes


def send(connection: socket.socket, kind: bytes, body: bytes = b"") -> None:
    connection.sendall(_HEAD.pack(kind, len(body)))
    if body:
        connection.sendall(body)


def receive(connection: socket.socket, most_bytes: int | None = None) -> Frame:
    """EOFError where the other side is gone, OverflowError for more than `most_bytes`."""
    kind, length = _HEAD.unpack(_exactly(connection, _HEAD.size))
    if most_bytes is not None and length > most_bytes:
        raise OverflowError(f"{length} bytes")
    return Frame(kind, bytes(_exactly(connection, length)))


def _exactly(connection: socket.socket, length: int) -> bytearray:
    whole = bytearray(length)
    view = memoryview(whole)
    at = 0
    while at < length:
        got = connection.recv_into(view[at : at + _PIECE])
        if got == 0:
            raise EOFError
        at += got
    return whole
