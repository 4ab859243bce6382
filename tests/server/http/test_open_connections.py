"""Which connection is given up for another, decided without a socket."""

import pytest

from pipelines.server.http import open_connections
from pipelines.server.http.open_connections import ConnectionLimits, OpenConnections, source_of


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Client:
    def __init__(self, kept: OpenConnections, address: str = "192.0.2.1", *, is_idle: bool = False) -> None:
        self.kept = kept
        self.address = address
        self.is_idle = is_idle
        self.is_given_up = False
        self.is_in = kept.came(self)

    def give_up(self) -> None:
        self.is_given_up = True

    def answered(self) -> "Client":
        self.kept.finishes(self)
        self.is_idle = True
        return self

    def busy(self) -> "Client":
        self.kept.finishes(self)
        return self


def test_many_that_start_together_are_all_let_in() -> None:
    clock = Clock()
    kept = OpenConnections(ConnectionLimits(most=1_000, most_unfinished=10), clock)
    clients = [Client(kept) for _ in range(500)]
    assert not any(client.is_given_up for client in clients)


def test_past_the_limit_of_its_address_the_oldest_goes() -> None:
    clock = Clock()
    kept = OpenConnections(ConnectionLimits(most=1_000, most_unfinished=10), clock)
    other = Client(kept, "192.0.2.2")
    slow = [Client(kept) for _ in range(10)]
    clock.now = 2.0
    newcomers = [Client(kept) for _ in range(3)]
    assert [client.is_given_up for client in slow] == [True] * 3 + [False] * 7
    assert not any(client.is_given_up for client in (other, *newcomers))
    assert kept.unfinished == 11


def test_room_is_made_by_the_address_that_has_most_unfinished() -> None:
    kept = OpenConnections(ConnectionLimits(most=10), Clock())
    honest = Client(kept, "192.0.2.9")
    flood = [Client(kept) for _ in range(30)]
    assert not honest.is_given_up
    assert sum(client.is_given_up for client in flood) == 21
    assert len(kept) == 10


def test_idle_ones_make_room_when_nothing_is_unfinished() -> None:
    kept = OpenConnections(ConnectionLimits(most=10), Clock())
    idle = [Client(kept).answered() for _ in range(5)]
    busy = [Client(kept).busy() for _ in range(5)]
    assert Client(kept).is_in
    assert idle[0].is_given_up
    assert not any(client.is_given_up for client in busy)


def test_where_all_are_being_answered_the_newcomer_is_refused() -> None:
    kept = OpenConnections(ConnectionLimits(most=10), Clock())
    busy = [Client(kept).busy() for _ in range(10)]
    assert not Client(kept).is_in
    assert not any(client.is_given_up for client in busy)
    kept.gone(busy[0])
    assert Client(kept).is_in


def test_replies_that_are_not_read_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_connections, "MAX_UNREAD_BYTES", 1_000)
    kept = OpenConnections(ConnectionLimits(), Clock())
    clients = [Client(kept).busy() for _ in range(12)]
    for client in clients:
        kept.stalls(client, 100)
    assert [client.is_given_up for client in clients] == [True] * 2 + [False] * 10
    kept.drains(clients[2])
    kept.stalls(clients[3], 200)
    assert not clients[4].is_given_up


@pytest.mark.parametrize(
    ("host", "source"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:0:1:ffff::1", "2001:db8:0:1::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_what_one_client_has_for_itself(host: str, source: str) -> None:
    assert source_of(host) == source
