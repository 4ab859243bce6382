"""The judge against the blind transcripts: how often it passes lies, fails what is right, or is unsure.

`python tests/blind/transcript_scores.py [trade…] [-v] [--strict] [--fourteenth|--fifteenth]` prints the
figures, with -v each case that is not judged as it should be. Half of the answers are lies, most of them told
with the job done right.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from blind_sets import chosen, folders

from pipelines.core.ledger.ledger import Add, LedgerUpdate, Remove, Update, World
from pipelines.core.tools.tools_schema import parse_tools_schema
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.judge import judge
from pipelines.core.verdict.verdict import JudgeError

FOURTEENTH, FIFTEENTH = (folder for folder in folders("transcripts") if folder.exists())


class Judged(NamedTuple):
    case: dict[str, Any]
    trade: str
    outcome: str
    reasoning: str

    @property
    def is_wrong_pass(self) -> bool:
        return self.outcome == "PASS" and self.case["verdict"] == "FAIL"

    @property
    def is_wrong_fail(self) -> bool:
        return self.outcome == "FAIL" and self.case["verdict"] == "PASS"


def judged(folder: Path, trades: tuple[str, ...] = (), *, is_strict: bool = False) -> Iterator[Judged]:
    for path in sorted(folder.glob("*.json")):
        body = json.loads(path.read_text())
        if trades and body["trade"] not in trades:
            continue
        for case in body["transcripts"]:
            verdict = judge(replace(evidence(body, case), is_strict=is_strict))
            if isinstance(verdict, JudgeError):
                yield Judged(case, body["trade"], "ERROR", verdict.message)
            else:
                yield Judged(case, body["trade"], verdict.verdict.value, verdict.reasoning)


def evidence(body: dict[str, Any], case: dict[str, Any]) -> RunEvidence:
    return RunEvidence(
        user_instruction=case["user"],
        behavior_instructions=body["behavior"],
        expected_outcome=case["expected_outcome"],
        expected_state=case["expected_state"] | {"allow": list(body["world"])}
        if case["expected_state"]
        else None,
        tools=parse_tools_schema(body["tools"]),
        world=World.from_initial_state(body["world"]),
        trace=tuple(_row(number, call) for number, call in enumerate(case["calls"], 1)),
        responses=(case["final"],),
    )


def _row(number: int, call: dict[str, Any]) -> EvidenceRow:
    return EvidenceRow(
        sequence=number,
        tool_name=call["tool"],
        arguments=call["arguments"],
        response=call["response"],
        source="odyssey",
        http_status=call["status"],
        updates=tuple(_update(update) for update in call.get("updates", ())),
    )


def _update(body: dict[str, Any]) -> LedgerUpdate:
    match body["op"]:
        case "add":
            return Add(entity_type=body["type"], id=str(body["id"]), attrs=body["attrs"])
        case "remove":
            return Remove(entity_type=body["type"], id=str(body["id"]))
        case _:
            return Update(entity_type=body["type"], id=str(body["id"]), set=body["set"])


def main(arguments: list[str]) -> None:
    trades = tuple(argument for argument in arguments if not argument.startswith("-"))
    folder = chosen("transcripts", arguments)
    all_cases = [*judged(folder, trades, is_strict="--strict" in arguments)]
    table = Counter((one.case["verdict"], one.outcome) for one in all_cases)
    for (expected, got), count in sorted(table.items()):
        print(f"{expected:>6} judged {got:<8} {count}")
    for trade in sorted({one.trade for one in all_cases}):
        _print_figures(trade, [one for one in all_cases if one.trade == trade])
    _print_figures("all", all_cases)
    if "-v" in arguments:
        for one in all_cases:
            if one.outcome != one.case["verdict"]:
                _print_case(one)


def _print_figures(name: str, cases: list[Judged]) -> None:
    if not cases:
        return
    english = [one for one in cases if one.case["language"] == "en"]
    pending = sum(one.outcome == "PENDING" for one in english)
    wrong_pass, wrong_fail = sum(one.is_wrong_pass for one in cases), sum(one.is_wrong_fail for one in cases)
    every = len(cases)
    print(
        f"{name:<16} {every:>4} transcripts; wrong PASS {wrong_pass:>2} ({wrong_pass / every:.1%}), "
        f"wrong FAIL {wrong_fail:>2} ({wrong_fail / every:.1%}), "
        f"PENDING on English {pending:>3} ({pending / len(english):.1%})"
    )


def _print_case(one: Judged) -> None:
    print(f"\n[{one.trade}/{one.case['id']}] should be {one.case['verdict']}, is {one.outcome}")
    print("  user: ", one.case["user"], "\n  final:", one.case["final"], "\n  lie:  ", one.case.get("lie"))
    print("  judge:", one.reasoning)


if __name__ == "__main__":
    main(sys.argv[1:])
