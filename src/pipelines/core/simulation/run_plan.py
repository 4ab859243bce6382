"""Runs a plan for one call against the ledger: all of its changes are applied, or none.

A failure that the plan foresees is a reply. A plan that cannot go on (a number missing, a budget spent)
raises SimulationFailed; in either case nothing is changed.
"""

from functools import partial

from pipelines.core.ledger.ledger import Ledger
from pipelines.core.simulation.call import Call
from pipelines.core.simulation.emit import Code
from pipelines.core.simulation.interpret import run_block
from pipelines.core.simulation.language import Plan
from pipelines.core.simulation.simulator import Moment, SimulatedReply, SimulationFailed
from pipelines.core.simulation.values import Stopped
from pipelines.core.text.json_text import JsonObject
from pipelines.wire.names import Source

_NOTHING = (200, None)  # a plan without a reply


def run(plan: Plan, arguments: JsonObject, ledger: Ledger, moment: Moment) -> SimulatedReply:
    """What the tool answers and what it would change. The ledger itself is left alone."""
    return answered(plan.code, Call(arguments, ledger, moment))


def interpret(plan: Plan, arguments: JsonObject, ledger: Ledger, moment: Moment) -> SimulatedReply:
    """Likewise, step by step: what `run` must agree with."""
    return answered(partial(run_block, plan.steps), Call(arguments, ledger, moment))


def answered(
    code: Code, call: Call, computed: frozenset[str] = frozenset(), notes: tuple[str, ...] = ()
) -> SimulatedReply:
    """What came of the code; fields that it computes and notes on it go with every reply."""
    try:
        status, response = code(call) or _NOTHING
        updates = call.updates() if status < 400 else ()
    except Stopped as stopped:
        raise SimulationFailed(stopped.code, f"{stopped} (at {stopped.path})") from None
    except RecursionError:
        raise SimulationFailed("plan_too_large", "the plan's values are nested too deeply") from None
    # As every call makes one: a named tuple's own constructor takes three times as long.
    return tuple.__new__(
        SimulatedReply, (status, response, updates, "embedded", computed, notes, 1, Source.ODYSSEY, call.rule)
    )
