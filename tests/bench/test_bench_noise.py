"""Whether a benchmark's run is called a result, and how its ratios are formed."""

import sys

import pytest

from support.repository import ROOT

sys.path.append(str(ROOT / "bench"))  # its modules are scripts, not a package

import noise
import report
from load import Load, WrongAnswer, is_whole
from noise import Taken


def one_round(*, stolen_s: float = 0.0, foreign_s: float = 0.0, core: str = "server") -> list[Taken]:
    """Two seconds on each core, one of them disturbed."""
    taken = {"server": Taken(core="server", seconds=2.0, stolen_s=0.0, foreign_s=0.0)}
    taken["load"] = Taken(core="load", seconds=2.0, stolen_s=0.0, foreign_s=0.0)
    taken[core] = Taken(core=core, seconds=2.0, stolen_s=stolen_s, foreign_s=foreign_s)
    return list(taken.values())


STEADY = (10_000.0, 10_400.0, 10_100.0)


def test_a_quiet_and_steady_run_is_a_result() -> None:
    rounds = [one_round(stolen_s=0.02), one_round(foreign_s=0.06), one_round(core="load", stolen_s=0.09)]
    found = noise.judged(rounds, echo=STEADY, load_cpu=0.5)
    assert not found.reasons
    assert found.echo_spread == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("disturbed", "told"),
    [
        (one_round(stolen_s=0.12), "round 2: of the server's core 6.0% stolen and 0.0% used by others"),
        (one_round(stolen_s=0.06, foreign_s=0.06), "round 2: of the server's core 3.0% stolen and 3.0% used"),
        (one_round(core="load", foreign_s=0.5), "round 2: of the load's core 0.0% stolen and 25.0% used"),
    ],
)
def test_one_disturbed_round_is_enough_to_refuse(disturbed: list[Taken], told: str) -> None:
    found = noise.judged([one_round(), disturbed, one_round()], echo=STEADY, load_cpu=0.5)
    assert len(found.reasons) == 1
    assert told in found.reasons[0]


def test_an_echo_that_moves_between_rounds_is_noise() -> None:
    found = noise.judged([one_round()] * 3, echo=(10_000, 11_600, 10_000), load_cpu=0.5)
    assert found.reasons == [
        "the echo's own calls/s at 32 connections, 10,000 to 11,600 between rounds, differ by 16.0%,"
        " more than 15%"
    ]


def test_what_cannot_be_known_is_no_result() -> None:
    assert "one round only" in noise.judged([one_round()], echo=(10_000,), load_cpu=0.5).reasons[0]


def test_a_load_without_a_core_to_spare_is_no_result() -> None:
    found = noise.judged([one_round()] * 3, echo=STEADY, load_cpu=0.97)
    assert found.reasons == ["the load used 97% of its core: it may have been the limit"]


def test_foreign_time_is_summed_before_it_is_read() -> None:
    """Ticks are coarse: what is too much in one measurement is too little in the next."""
    found = noise.shares([*one_round(foreign_s=-0.3), *one_round(foreign_s=0.4)])
    assert found["server"].foreign == pytest.approx(0.025)
    assert noise.shares(one_round(foreign_s=-0.3))["server"].foreign == 0


@pytest.mark.parametrize("disturbed_s", [0.0, 0.5])
def test_a_noisy_run_is_headed_as_no_result_and_the_table_fits_the_page(disturbed_s: float) -> None:
    names = ("echo", "odyssey NORMAL", "odyssey NORMAL write", "wiremock")
    results = {name: dict.fromkeys(report.CONNECTIONS, loads(123_456, 123_456)[32]) for name in names}
    found = noise.judged([one_round(stolen_s=disturbed_s)] * 2, echo=STEADY, load_cpu=0.5)
    ratios = report.ratios(results)
    late = {"odyssey NORMAL write": {"p50_ms": 1.0, "p99_ms": 123.45, "max_ms": 1234.5}}
    text = report.table(
        {
            "is_result": not found.reasons,
            "noise": found.as_json(),
            "machine": "x86_64",
            "load": {"text": "the load"},
            "figures": report.medians(results),
            "ratios": ratios,
            "blocked": late,
            "goals": report.goals(ratios, late),
            "skipped": ["prism"],
        }
    )
    assert max(len(line) for line in text.splitlines()) <= 100
    assert text.startswith("NOT A RESULT: noisy machine (round 1: of the server's core 25.0%") == bool(
        disturbed_s
    )
    assert ("NOT A RESULT" in text) == bool(disturbed_s)


def loads(*calls_per_s: float) -> dict[int, list[Load]]:
    return {
        32: [
            Load(connections=32, calls_per_s=calls, p50_ms=32_000 / calls, p99_ms=1.0, own_cpu=0.5)
            for calls in calls_per_s
        ]
    }


def test_ratios_compare_neighbours_in_time() -> None:
    """The ratio of the medians would be 0.4, that of the middle round is 0.8."""
    found = report.round_by_round(loads(4_000, 8_000, 4_000), loads(5_000, 10_000, 10_000))
    assert found["32"] == {"throughput": 0.8, "p50": 1.25}


def test_writes_are_compared_with_the_echo_alone() -> None:
    results = {name: loads(1_000) for name in ("echo", "odyssey FULL", "odyssey FULL write", "prism")}
    assert list(report.ratios(results)) == [
        "odyssey FULL / echo",
        "odyssey FULL / prism",
        "odyssey FULL write / echo",
    ]


def test_goals_are_reached_missed_or_not_measured() -> None:
    found = {"odyssey NORMAL / echo": {"1": {"p50": 1.9}, "32": {"throughput": 0.7}}}
    lines = {
        line["goal"]: line["reached"] for line in report.goals(found, {"odyssey NORMAL": {"p99_ms": 9.0}})
    }
    assert lines["read at 32, NORMAL, of the echo ≥ 0.7"] is True
    assert lines["read's p50 at 1, NORMAL, × the echo ≤ 1.8"] is False
    assert lines["read at 32, NORMAL, × warmed WireMock ≥ 1.2"] is None
    assert lines["loop blocked, p99 at 32, odyssey NORMAL ≤ 10 ms"] is True


WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nx: y\r\n\r\nbody"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"


@pytest.mark.parametrize("data", [WHOLE, CHUNKED])
def test_a_response_is_whole_at_its_last_byte(data: bytes) -> None:
    assert is_whole(data, range(2, 20))
    assert not any(is_whole(data[:end], range(2, 20)) for end in range(1, len(data)))


@pytest.mark.parametrize(
    "data",
    [
        WHOLE.replace(b"200 OK", b"201 Created"),
        b"HTTP/1.1 500",
        WHOLE.replace(b": 4", b": 1").replace(b"body", b"b"),
        WHOLE + WHOLE,
    ],
)
def test_a_wrong_response_ends_the_measurement(data: bytes) -> None:
    with pytest.raises(WrongAnswer):
        is_whole(data, range(2, 20))
