"""A connection that its agent drops after an answer is not an agent that is away."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pipelines.cli.doctor.endpoint import Endpoint, endpoint_findings
from pipelines.cli.doctor.findings import Level

TOKEN = "Bearer right"
NO_LINGER = struct.pack("ii", 1, 0)  # closing sends a reset


def test_an_agent_that_drops_a_connection_after_its_answer_is_asked_on_another():
    with _agent_of_one_answer_a_connection() as url:
        findings = list(endpoint_findings(Endpoint(url=url, header_name="Authorization", header_value=TOKEN)))
    assert [finding for finding in findings if finding.level is not Level.OK] == []


@contextmanager
def _agent_of_one_answer_a_connection() -> Iterator[str]:
    """It says nothing of closing, and answers the second question on a connection by a reset."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_serve, args=(listening,), daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/dispatch"


def _serve(listening: socket.socket) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return  # the test is over
        with connection:
            status = b"200 OK" if TOKEN.encode() in _question(connection) else b"401 Unauthorized"
            connection.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Length: 2\r\n\r\n{}")
            if connection.recv(1):  # a second question; nothing at all is the asker's leaving
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)


def _question(connection: socket.socket) -> bytes:
    taken = b""
    while not taken.endswith(b"}"):
        taken += connection.recv(65_536)
    return taken
