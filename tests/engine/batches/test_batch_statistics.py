"""What a batch says about an agent that passes some of the time: numbers worked out by hand."""

from itertools import count

from support.played_agents import Dispatch, does_nothing, played, refunds
from support.server_process import REFUND_TASK, Api

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
        # Four runs, but of two tasks: with the two imagined ones 5 of 8 pass, the squares are
        # 2·0.75² + 0.25² + 1.25² = 2.75, the effect 4/3·2.75/64 / (0.2344/7) = 1.711, and 4/1.711 = 2.338.
        # Wilson, z = 1.96: (0.75 + 3.84/4.676 ± 1.96 √(0.1875/2.338 + 3.84/21.86)) / (1 + 3.84/2.338)
        "pass_rate_interval": [0.2195, 0.9697],
        "pass_hat_k": {"2": 0.5},  # one of the two tasks passed twice; 0.75² would be 0.5625
        "tasks_judged": 2,
        "effective_runs": 2.3,
        "stability": {"stable_pass": 1, "flaky": 1, "stable_fail": 0},
        "pending_reasons": {},
        "unverified": 0,
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
        "tasks_judged": 0,
        "effective_runs": None,
        "stability": None,
        "pending_reasons": {},
        "unverified": 0,
    }
