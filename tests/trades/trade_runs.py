"""Runs every task of every trade with that trade's agent, in this process, and yields what came of it.

python tests/trades/trade_runs.py [-v] [trade …]
"""

import argparse
import importlib.util
import json
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipelines.odyssey.testing import InProcessRun, odyssey_run

HERE = Path(__file__).parent


class TradeRun(NamedTuple):
    """One task done by its trade's agent. `run` has the calls and the ledger as the agent left them."""

    trade: str
    row: int
    user: str
    text: str
    verdict: Any
    run: InProcessRun


def trades() -> list[str]:
    return sorted(path.parent.name for path in HERE.glob("*/tasks.json"))


def runs(only: Sequence[str] = ()) -> Iterator[TradeRun]:
    """Every task of every trade, or of those in `only`. Rows count from 1."""
    for trade in only or trades():
        tools = json.loads((HERE / trade / "tools.json").read_text(encoding="utf-8"))
        tasks = json.loads((HERE / trade / "tasks.json").read_text(encoding="utf-8"))
        answer = _agent_of(trade)
        for number, task in enumerate(tasks, start=1):
            with odyssey_run(tools_schema=tools, **task) as run:
                text = answer(task["user"])
            yield TradeRun(trade, number, task["user"], text, run.verdict(text), run)


def _agent_of(trade: str) -> Callable[[str], str]:
    """The `answer` of a trade's agent. Each file has a module name of its own: all are called agent.py."""
    spec = importlib.util.spec_from_file_location(f"trade_{trade}_agent", HERE / trade / "agent.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    answer: Callable[[str], str] = module.answer
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("trade", nargs="*", help="only these folders")
    parser.add_argument("-v", "--verbose", action="store_true", help="with the text and the reasoning")
    options = parser.parse_args()
    for each in runs(options.trade):
        print(f"{each.verdict.verdict:8} {each.trade} {each.row}: {each.user[:90]}")
        if options.verbose:
            print(textwrap.indent(each.text, "    | "))
            print(textwrap.indent(str(each.verdict.reasoning), "    > "))


if __name__ == "__main__":
    main()
