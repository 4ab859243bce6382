"""No input of one org, agent or stranger keeps others waiting, takes too much memory, or fails others' runs.

Each kind of hostile input for a second or so; for ten minutes, in random rounds, with `make test-all`. One
kind alone: `pytest tests/acceptance/test_heartbeat.py -k H4`; with `-s` it prints what was measured.
HEARTBEAT_SEED repeats a long one, HEARTBEAT_S makes it shorter.
"""

import os
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest
from attack_outcome import Outcome
from attacked import Attacked
from hostile.kinds import KINDS

LONG_S = float(os.environ.get("HEARTBEAT_S", "600"))
ROUND_S = 4.0
TRIES = 3
pytestmark = pytest.mark.alone  # one server, and one attack at a time


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    server = Attacked(tmp_path_factory.mktemp("heartbeat") / "data")
    yield server
    server.close()


#: Some of each row, in a minute or so; `make test-all` has them all.
BOUNDED = (
    *("C2-finish", "C2-oracles", "C3-repeats", "H1-arguments", "H2-json", "H3-zip", "H4-descriptions"),
    *("H4-long", "H7-spinning", "H8-replies", "H9-heads", "H9-garbage", "H9-unread", "Q-messages", "W-trace"),
    *("T-adapters", "T-calls", "T-documents", "D-grade", "K-replies", "L-refine", "R-comments"),
)


NAMES = [pytest.param(name, marks=[] if name in BOUNDED else [pytest.mark.slow]) for name in KINDS]


def _endured(attacked: Attacked, name: str, **told: Any) -> Outcome:
    """What is true of an input is true each time; what the machine did by the way is not."""
    for _ in range(TRIES):
        outcome = attacked.endure(name, **told)
        print("\n" + outcome.line())
        if not outcome.is_doubtful:
            break
    return outcome


@pytest.mark.parametrize("name", NAMES)
def test_others_are_served_while_this_arrives(attacked: Attacked, name: str) -> None:
    if KINDS[name].runs_code and attacked.no_code:
        pytest.skip(attacked.no_code)
    outcome = _endured(attacked, name)
    if problems := outcome.problems():
        pytest.fail("\n".join([outcome.line(), *problems, outcome.slowest()]), pytrace=False)


@pytest.mark.slow
def test_others_are_served_for_ten_minutes_of_anything(attacked: Attacked) -> None:
    seed = int(os.environ.get("HEARTBEAT_SEED", random.randrange(2**32)))
    print(f"\nseed {seed}")
    chance, ends, broken = random.Random(seed), time.monotonic() + LONG_S, []
    names = [name for name, kind in KINDS.items() if not (kind.runs_code and attacked.no_code)]
    while time.monotonic() < ends:
        name = chance.choice(names)
        told = {"seed": chance.randrange(2**32), "seconds": ROUND_S, "is_long": True}
        outcome = _endured(attacked, name, **told)
        broken += [f"{name} (seed {seed}): {problem}" for problem in outcome.problems()]
    if broken:
        pytest.fail("\n".join(broken), pytrace=False)
