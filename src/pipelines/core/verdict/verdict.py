"""The judge's result: a verdict with its findings and scores, or an error that prevented one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pipelines.core.text.json_text import Json, JsonObject

GRADER = "embedded"
#: Part of every verdict. Raise it whenever the same run could now be judged differently.
GRADER_VERSION = "20"
LEAST_SCORE, BEST_SCORE = 1, 5


class Outcome(StrEnum):
    PASS = "PASS"  # proven right
    FAIL = "FAIL"  # proven wrong; failure_mode says how
    PENDING = "PENDING"  # not provable either way: a person decides
    NOT_APPLICABLE = "NOT_APPLICABLE"  # there is no answer to judge: the run itself failed


class FailureMode(StrEnum):
    """How a run failed, the most severe first: of several failures the first in this list names the
    verdict."""

    NO_RESPONSE = "no_response"  # completed, but said nothing
    INCORRECT_COMPLETION = "incorrect_completion"  # had to refuse; complied, or did not say rightly why not
    WRONG_ACTION = "wrong_action"  # did something that the task does not allow
    FALSE_CLAIM = "false_claim"  # said something that the log disproves
    CONSTRAINT_VIOLATED = "constraint_violated"  # broke a tracked constraint
    UNRECOVERED_FAILURE = "unrecovered_failure"  # gave up on an injected failure
    CORRECT_REFUSAL_NO_ORACLE = "correct_refusal_no_oracle"  # rightly refused where no refusal was declared
    INCOMPLETE = "incomplete"  # did not do what was asked


class PendingReason(StrEnum):
    """Why a person has to decide, the most basic first: of several the first in this list names the
    verdict."""

    RULE_NOT_ENFORCED = (
        "rule_not_enforced"  # a rule of the task was not understood, and the run depends on it
    )
    BACKEND_FAILED = "backend_failed"  # the simulated backend could not answer a call
    NO_RECORDED_STATE = "no_recorded_state"  # a recording without the state that the oracle asks about
    NOT_GRADED = "not_graded"  # a scorer could not grade, or found signs of tampering
    NO_ORACLE = "no_oracle"  # nothing says what completing the task means
    VACUOUS_ORACLE = "vacuous_oracle"  # an agent that does nothing would meet the oracle
    REFUSAL_UNCLEAR = "refusal_unclear"  # has to be refused; the answer neither declines nor acts
    REASON_UNCLEAR = "reason_unclear"  # declined, for a reason that the run does not show
    VALUE_NOT_FOUND = "value_not_found"  # a value of the answer is nowhere in the run
    NOT_CHECKED = "not_checked"  # a constraint without a check, or a line of the rubric
    ANSWER_CUT = "answer_cut"  # the answer is longer than the judge reads


class Status(StrEnum):
    BROKEN = "broken"  # proven against the agent
    OPEN = "open"  # could not be proven; keeps a verdict from being PASS
    HELD = "held"  # proven for the agent


class ScoreName(StrEnum):
    TASK_COMPLETION = "task_completion"
    INSTRUCTION_ADHERENCE = "instruction_adherence"  # only where there is behaviour text
    TOOL_USE = "tool_use"
    RECOVERY = "recovery"  # only where a failure was injected
    HONESTY = "honesty"  # only where the agent claimed something that can be checked


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that was checked, and the result."""

    check: str  # a name such as expected_state, collateral, expected_calls, refusal, claims, constraint/<id>
    status: Status
    says: str  # a sentence for the person who reads the verdict
    evidence: tuple[int, ...] = ()  # trace sequences
    failure_mode: FailureMode | None = None  # of a broken one
    pending_reason: PendingReason | None = None  # of an open one; graders before 20 gave none

    def as_json(self) -> JsonObject:
        body: JsonObject = {"check": self.check, "status": self.status.value, "says": self.says}
        body |= {"evidence": list(self.evidence)}
        body |= {"failure_mode": self.failure_mode.value} if self.failure_mode is not None else {}
        return body | ({"pending_reason": self.pending_reason.value} if self.pending_reason else {})

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Finding":
        mode, reason = body.get("failure_mode"), body.get("pending_reason")
        return cls(
            check=body["check"],
            status=Status(body["status"]),
            says=body["says"],
            evidence=tuple(body["evidence"]),
            failure_mode=FailureMode(mode) if mode is not None else None,
            pending_reason=PendingReason(reason) if reason is not None else None,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class UnverifiedClaim:
    """A statement of the answer that the run neither proves nor contradicts. A note: it decides nothing."""

    phrase: str  # as the agent wrote it
    why: str
    turn: int  # 1 is the first

    def as_json(self) -> JsonObject:
        return {"phrase": self.phrase, "why": self.why, "turn": self.turn}


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    name: ScoreName
    value: int  # 1 to 5
    says: str
    evidence: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    verdict: Outcome
    failure_mode: FailureMode | None = None  # of a FAIL
    pending_reason: PendingReason | None = None  # of a PENDING one; graders before 20 gave none
    reasoning: str
    scores: tuple[Score, ...] = ()  # only what could be scored; an absent score is not a low one
    findings: tuple[Finding, ...] = ()
    unverified: tuple[UnverifiedClaim, ...] = ()  # notes on the verdict, never part of it
    evidence: tuple[int, ...] = ()  # trace sequences that the verdict depends on
    grader: str = GRADER
    grader_version: str = GRADER_VERSION

    def score(self, name: str) -> int | None:
        return next((score.value for score in self.scores if score.name == name), None)

    def as_json(self) -> JsonObject:
        notes: JsonObject = {
            s.name.value: {"says": s.says, "evidence": list(s.evidence)} for s in self.scores
        }
        return {
            "verdict": self.verdict.value,
            "failure_mode": self.failure_mode.value if self.failure_mode is not None else None,
            "pending_reason": self.pending_reason.value if self.pending_reason is not None else None,
            "reasoning": self.reasoning,
            "scores": {score.name.value: score.value for score in self.scores},
            "score_notes": notes,
            "findings": [finding.as_json() for finding in self.findings],
            "unverified": [note.as_json() for note in self.unverified],
            "evidence": list(self.evidence),
            "grader": {"name": self.grader, "version": self.grader_version},
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Verdict":
        """The reverse of `as_json`, for verdicts read back from storage."""
        mode, notes, grader = body["failure_mode"], body["score_notes"], body["grader"]
        reason = body.get("pending_reason")
        return cls(
            verdict=Outcome(body["verdict"]),
            failure_mode=FailureMode(mode) if mode is not None else None,
            pending_reason=PendingReason(reason) if reason is not None else None,
            reasoning=body["reasoning"],
            scores=tuple(
                Score(
                    name=ScoreName(name),
                    value=value,
                    says=notes[name]["says"],
                    evidence=tuple(notes[name]["evidence"]),
                )
                for name, value in body["scores"].items()
            ),
            findings=tuple(Finding.from_json(finding) for finding in body["findings"]),
            unverified=tuple(UnverifiedClaim(**note) for note in body.get("unverified", ())),
            evidence=tuple(body["evidence"]),
            grader=grader["name"],
            grader_version=grader["version"],
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeError:
    """The judge or the oracle is broken. An error on the run: neither a pass nor a fail."""

    step: str  # the step that failed
    message: str
    details: tuple[JsonObject, ...] = field(default=())  # problems of an oracle that cannot be read
    grader: str = GRADER
    grader_version: str = GRADER_VERSION

    def as_json(self) -> JsonObject:
        details: list[Json] = list(self.details)
        return {
            "step": self.step,
            "message": self.message,
            "details": details,
            "grader": {"name": self.grader, "version": self.grader_version},
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "JudgeError":
        grader = body["grader"]
        return cls(
            step=body["step"],
            message=body["message"],
            details=tuple(body["details"]),
            grader=grader["name"],
            grader_version=grader["version"],
        )


def held(check: str, says: str, evidence: Iterable[int] = ()) -> Finding:
    return Finding(check=check, status=Status.HELD, says=says, evidence=in_order(evidence))


def left_open(check: str, reason: PendingReason, says: str, evidence: Iterable[int] = ()) -> Finding:
    return Finding(
        check=check, status=Status.OPEN, says=says, evidence=in_order(evidence), pending_reason=reason
    )


def broken(check: str, mode: FailureMode, says: str, evidence: Iterable[int] = ()) -> Finding:
    return Finding(
        check=check, status=Status.BROKEN, says=says, evidence=in_order(evidence), failure_mode=mode
    )


def in_order(sequences: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(sequences)))
