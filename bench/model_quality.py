"""How often a model is right as author, judge and simulator, on the newest blind sets of tests/blind.

    PIPELINES_MODEL=openai:gpt-5-mini python bench/model_quality.py [--questions N] [--only rules,judge]

Beside each figure is what Odyssey answers to the same cases without a model. The model is asked as a run or
an author asks it: with the same prompts, checks and second tries. PIPELINES_MODEL and its keys are read from
the environment.

Each answer is kept in a file of its own line by line. A measurement that was interrupted goes on where it
stopped; `--fresh` begins anew, for instance after an update of Odyssey.
"""

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "blind"))

from quality.cases import Answer, Asked, Question, asking, tally
from quality.purposes import MEASURED

ROOT = Path(__file__).parent.parent
QUESTIONS = 10
STORED = ROOT / ".bench" / "model_quality"
OUTCOMES = ("right", "wrong", "wrong PASS", "wrong FAIL", "open", "failed")


class Kept(NamedTuple):
    """What is known of one question: one line of the file."""

    measured: str
    cases: list[str]
    answers: list[Answer]
    used: dict[str, int]
    seconds: float

    @classmethod
    def read(cls, line: str) -> "Kept":
        body = json.loads(line)
        return cls(**body | {"answers": [Answer(**one) for one in body["answers"]]})

    def line(self) -> str:
        return json.dumps(self._asdict() | {"answers": [one.as_json() for one in self.answers]}) + "\n"


def main() -> None:
    options = _options()
    wanted = options.only.split(",") if options.only else [*MEASURED]
    if unknown := [name for name in wanted if name not in MEASURED]:
        sys.exit(f"--only: there is no {', '.join(unknown)}; there are {', '.join(MEASURED)}")
    kept = asyncio.run(measure(wanted, options))
    if options.json:
        print(json.dumps({name: report([one for one in kept if one.measured == name]) for name in wanted}))
    else:
        print("\n".join(table(wanted, kept)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--questions", type=int, default=QUESTIONS, help=f"of each kind (default {QUESTIONS})"
    )
    parser.add_argument("--only", help=f"some of {','.join(MEASURED)}")
    parser.add_argument("--results", type=Path, help=f"the file of answers (default: in {STORED})")
    parser.add_argument("--fresh", action="store_true", help="ask everything again")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


async def measure(wanted: Sequence[str], options: argparse.Namespace) -> list[Kept]:
    with tempfile.TemporaryDirectory() as folder:
        async with asking(Path(folder)) as asked:
            file = options.results or STORED / f"{_file_name(asked)}.jsonl"
            file.parent.mkdir(parents=True, exist_ok=True)
            if options.fresh:
                file.unlink(missing_ok=True)
            known = [*_known(file)]
            kept: list[Kept] = []
            for name in wanted:
                _refuse_without_model(asked, name)
                kept += await _measured(asked, name, options.questions, known, file)
            return kept


def _refuse_without_model(asked: Asked, name: str) -> None:
    purpose = MEASURED[name].purpose
    if purpose not in asked.models:
        sys.exit(f"{name} needs a model: set PIPELINES_MODEL or PIPELINES_{purpose.name}_MODEL")


def _file_name(asked: Asked) -> str:
    names = dict.fromkeys(asked.models.values())
    return re.sub(r"[^\w.-]+", "-", "+".join(names)) or "none"


def _known(file: Path) -> Iterator[Kept]:
    """The last line may be half written."""
    for line in file.read_text().splitlines() if file.exists() else ():
        try:
            yield Kept.read(line)
        except (ValueError, TypeError):
            continue


async def _measured(asked: Asked, name: str, count: int, known: Sequence[Kept], file: Path) -> list[Kept]:
    found: list[Kept] = []
    every = [*MEASURED[name].questions(count)]
    for number, question in enumerate(every, 1):
        before = next((one for one in known if (one.measured, one.cases) == (name, [*question.cases])), None)
        found.append(before or await _asked(asked, name, question, file))
        told = ", ".join(f"{count} {outcome}" for outcome, count in tally(found[-1].answers)["model"].items())
        again = "kept" if before else f"{found[-1].seconds:.0f} s"
        print(
            f"{name} {number}/{len(every)} {' '.join(question.cases)}: {told} ({again})",
            file=sys.stderr,
            flush=True,
        )
    return found


async def _asked(asked: Asked, name: str, question: Question, file: Path) -> Kept:
    before, began = await asked.used(), time.monotonic()
    answers = await question.ask(asked)
    used = (await asked.used()).since(before)
    kept = Kept(name, [*question.cases], answers, used._asdict(), round(time.monotonic() - began, 1))
    with file.open("a") as out:
        out.write(kept.line())
    return kept


def report(kept: Sequence[Kept]) -> dict[str, Any]:
    answers = [answer for one in kept for answer in one.answers]
    used = {key: sum(one.used[key] for one in kept) for key in (kept[0].used if kept else ())}
    return {
        "cases": len(answers),
        **{who: dict(counts) for who, counts in tally(answers).items()},
        "used": used,
        "seconds": round(sum(one.seconds for one in kept), 1),
        "answers": [answer.as_json() for answer in answers],
    }


def table(wanted: Sequence[str], kept: Sequence[Kept]) -> Iterator[str]:
    yield "| what | cases | without a model | with it | questions | tokens | cost | time |"
    yield "|---|---|---|---|---|---|---|---|"
    for name in wanted:
        found = report([one for one in kept if one.measured == name])
        used, cases = found["used"], found["cases"]
        cost = "unknown" if used.get("unpriced") else f"{used.get('nanousd', 0) / 1e9:.4f} USD"
        yield (
            f"| {MEASURED[name].title} | {cases} | {_counts(found['embedded'])} | {_counts(found['model'])} |"
            f" {used.get('questions', 0)} | {used.get('tokens', 0):,} | {cost} | {found['seconds']:,.0f} s |"
        )


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if outcome in counts) or "–"


if __name__ == "__main__":
    main()
