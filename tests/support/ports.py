"""Ports for servers of tests."""

import socket


def free_port() -> int:
    """One that nobody listens on: the system gives the next caller another."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
