"""What a batch says about an agent that passes some of the time: numbers worked out by hand."""

from itertools import count

from nodes import REFUND_TASK, Api
from played_agents import Dispatch, does_nothing, played, refunds

ROWS = [REFUND_TASK | {"user": f"Refund order #4521 ({name})."} for name in ("steady", "shaky")]


def test_three_of_four_over_two_tasks_of_two_repeats(api: Api):
    shaky = count()

    def mostly(dispatch: Dispatch) -> None:
        fails = "shaky" in dispatch.said and next(shaky) == 0
        (does_nothing if fails else refunds)(dispatch)

    with played(mostly) as agent:
        batch = api.ended(api.start_batch(agent.url, *ROWS, repeats=2))
    assert batch["counts"]["by_verdict"] == {"FAIL": 1, "PASS": 3}
    assert batch["summary"] == {
        "passed": 3,
        "judged": 4,
        "pass_rate": 0.75,
        # Wilson, z = 1.96: (0.75 + 3.84/8 ± 1.96 √(0.1875/4 + 3.84/64)) / (1 + 3.84/4)
        "pass_rate_interval": [0.3006, 0.9544],
        "pass_hat_k": {"2": 0.5},  # one of the two tasks passed twice; 0.75² would be 0.5625
    }


def test_without_repeats_there_is_no_pass_hat_and_without_verdicts_no_rate(api: Api):
    with played(lambda dispatch: dispatch.answer_with(500, b"no")) as agent:
        batch = api.ended(api.start_batch(agent.url, *ROWS))
    assert batch["summary"] == {
        "passed": 0,
        "judged": 0,
        "pass_rate": None,
        "pass_rate_interval": None,
        "pass_hat_k": {},
    }
