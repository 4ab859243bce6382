"""Synthetic worlds: how fast one is made, and how many of the rows drafted over it are kept with proof.

    python bench/worlds.py [--fidelity FOLDER] [--toolset FILE]… [--seeds N] [--json]

A toolset is a file as in tests/core/worlds/toolsets: `{tools, ledger_schema?, behavior?}`, or a bare list of
tools. FOLDER holds recordings (`retail/tools.json`, `retail/state.json`, `desk/tools.json`): their tools are
measured too, and what is advised about retail's own state is listed. The reference for speed, in the same
run, is mimesis drawing as many people with the fields that a person has: no references, sums, times or rules.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipelines.core.ledger.ledger_schema import parse_ledger_schema
from pipelines.core.text.json_text import JsonObject
from pipelines.core.tools.tools_schema import parse_tools_schema
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.judge import judge
from pipelines.core.verdict.verdict import Verdict
from pipelines.core.worlds.ground import Ground, called, ground_of
from pipelines.core.worlds.make_world import filled, make_world
from pipelines.core.worlds.review.advisories import advisories
from pipelines.core.worlds.rows.coverage import coverage
from pipelines.core.worlds.rows.draft_rows import draft_rows
from pipelines.core.worlds.rows.prove_row import prove_row
from pipelines.core.worlds.shapes import ROW_AXES, Bucket, DraftRow, ProvedRow, Toolset
from pipelines.core.worlds.types.toolset_outline import outline_of

NOW = "2026-05-01T12:00:00Z"
ENTITIES = 10_000
ROUNDS = 5
OWN = Path(__file__).parent.parent / "tests" / "core" / "worlds" / "toolsets"
BUCKETS = (
    Bucket(name="everyday", theme="everyday requests", rows=20),
    Bucket(name="not allowed", theme="not allowed", rows=10),
    Bucket(name="trouble", theme="backend trouble", rows=5),
    Bucket(name="steps", theme="several steps", rows=5),
    Bucket(name="anything", theme="", rows=20),
)
SILENT = ("", "Done.", "I am sorry, I cannot help with that.")


def read_toolset(path: Path) -> Toolset:
    body: Any = json.loads(path.read_text())
    body = {"tools": body} if isinstance(body, list) else body
    schema = parse_ledger_schema(body.get("ledger_schema"))
    tools = parse_tools_schema(body["tools"], ledger_schema=schema)
    return Toolset(tools=tools, ledger_schema=schema, behavior=body.get("behavior"))


def speed() -> dict[str, Any]:
    """Turns of both, the best of each: a machine that is busy for a while is busy for both."""
    outline = outline_of(read_toolset(OWN / "clinic.json"))
    counts = dict.fromkeys(outline.types, ENTITIES // len(outline.types))
    filled(outline, dict.fromkeys(outline.types, 5), rng_seed=0, now=NOW)  # lists of names are drawn once
    ours, theirs = [], []
    for number in range(ROUNDS):
        started = time.perf_counter()
        filled(outline, counts, rng_seed=number, now=NOW)
        ours.append(time.perf_counter() - started)
        started = time.perf_counter()
        _people(number)
        theirs.append(time.perf_counter() - started)
    made, drawn = min(ours), min(theirs)
    return {"entities": ENTITIES, "made_s": made, "mimesis_s": drawn, "ratio": made / drawn}


def _people(seed: int) -> list[dict[str, Any]]:
    from mimesis import Address, Datetime, Person
    from mimesis.locales import Locale

    person, address, when = (kind(Locale.EN, seed=seed) for kind in (Person, Address, Datetime))
    return [
        {
            "name": person.full_name(),
            "email": person.email(),
            "phone": person.telephone(),
            "street": address.address(),
            "city": address.city(),
            "joined": when.date().isoformat(),
        }
        for _ in range(ENTITIES)
    ]


def rows_of(toolset: Toolset, state: JsonObject, seed: int) -> dict[str, Any]:
    ground = ground_of(toolset, state)
    kept: list[ProvedRow] = []
    drafted, rejected = 0, Counter[str]()
    for bucket in BUCKETS:
        wanted = len(kept) + bucket.rows
        for draft in draft_rows(toolset, state, bucket, rng_seed=seed, now=NOW, axes=ROW_AXES, ground=ground):
            drafted += 1
            texts = [row.draft.user_instruction for row in kept]
            row = prove_row(toolset, state, draft, now=NOW, earlier_texts=texts, ground=ground)
            if isinstance(row, ProvedRow):
                kept.append(row)
            else:
                rejected[row.reason_code] += 1
            if len(kept) == wanted:
                break
    verdicts = Counter(verdict for row in kept for verdict in _verdicts(row.draft, ground))
    counted = coverage([row.draft for row in kept], toolset)
    return {
        "kept": len(kept),
        "drafted": drafted,
        "proof_rate": len(kept) / max(1, drafted),
        "rejected": dict(rejected),
        "reference": {name: count for (who, name), count in verdicts.items() if who == "reference"},
        "nothing": {name: count for (who, name), count in verdicts.items() if who == "nothing"},
        "outcomes": dict(counted.by_outcome),
        "without_rows": list(counted.missing_tools),
    }


def _verdicts(draft: DraftRow, ground: Ground) -> Iterator[tuple[str, str]]:
    """By the judge: one agent that replays the reference and says what came of it, three that do nothing."""
    run = ground.opened(now=NOW, rules=draft.failure_rules)
    made = [called(run, call.tool, call.arguments) for call in draft.reference_calls]
    last: Any = made[-1].response
    told = "I looked it up." if draft.outcome == "answered" else "Done."
    if draft.expected_outcome == "refusal":
        error = last.get("error", {}) if isinstance(last, dict) else {}
        told = f"I'm sorry, I cannot do that: {error.get('message', '')}"
    yield "reference", _judged(draft, ground, [answer.row for answer in made], told)
    yield from (("nothing", _judged(draft, ground, [], said)) for said in SILENT)


def _judged(draft: DraftRow, ground: Ground, trace: list[Any], said: str) -> str:
    found = judge(
        RunEvidence(
            user_instruction=draft.user_instruction,
            behavior_instructions=draft.behavior,
            expected_outcome=draft.expected_outcome,
            expected_state=draft.expected_state,
            expected_calls=draft.expected_calls,
            tools=ground.toolset.tools,
            world=ground.world,
            trace=tuple(trace),
            responses=(said,),
            now=NOW,
        )
    )
    return str(found.verdict) if isinstance(found, Verdict) else f"error: {found.message}"


def measured(paths: list[Path], fidelity: Path | None, seeds: int) -> dict[str, Any]:
    found: dict[str, Any] = {"speed": speed(), "rows": {}, "advisories": {}}
    for path in paths:
        toolset = read_toolset(path)
        name = path.stem if path.parent == OWN else f"{path.parent.name}/{path.stem}"
        for seed in range(1, seeds + 1):
            state = make_world(toolset, size="standard", rng_seed=seed, now=NOW).state
            found["rows"][f"{name}, seed {seed}"] = rows_of(toolset, state, seed)
            found["advisories"][f"{name}, seed {seed}"] = _advised(toolset, state)
    if fidelity is not None:
        toolset = read_toolset(fidelity / "retail" / "tools.json")
        state = json.loads((fidelity / "retail" / "state.json").read_text())
        found["rows"]["retail, its own state"] = rows_of(toolset, state, 1)
        found["advisories"]["retail, its own state"] = _advised(toolset, state)
    return found


def _advised(toolset: Toolset, state: JsonObject) -> list[str]:
    return [f"{one.name}: {one.message}" for one in advisories(toolset, state, now=NOW)]


def _print(found: dict[str, Any]) -> None:
    speed = found["speed"]
    print(
        f"{speed['entities']:,} entities in {speed['made_s']:.2f} s; as many people by mimesis alone in "
        f"{speed['mimesis_s']:.2f} s: {speed['ratio']:.2f} of its time"
    )
    for name, rows in found["rows"].items():
        print(
            f"{name}: {rows['kept']} kept of {rows['drafted']} drafted ({rows['proof_rate']:.0%}), rejected "
            f"{rows['rejected']}; by the judge, reference {rows['reference']}, nothing done {rows['nothing']}"
        )
    for name, advised in found["advisories"].items():
        print(f"{name}: {'; '.join(advised) or 'nothing is advised'}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fidelity", type=Path)
    parser.add_argument("--toolset", type=Path, action="append", default=[])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    paths = [*sorted(OWN.glob("*.json")), *given.toolset]
    if given.fidelity is not None:
        paths += [given.fidelity / "retail" / "tools.json", given.fidelity / "desk" / "tools.json"]
    found = measured(paths, given.fidelity, given.seeds)
    print(json.dumps(found, indent=2)) if given.json else _print(found)


if __name__ == "__main__":
    main()
