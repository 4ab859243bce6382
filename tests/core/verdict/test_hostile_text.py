"""Answers written to keep the judge busy: reading them takes time by their length, and no more than that."""

import time
from collections.abc import Callable

import pytest

from pipelines.core.english.mentions import mentions
from pipelines.core.oracles.wording import quote
from pipelines.core.verdict.answer_findings import answer_findings
from pipelines.core.verdict.evidence import TookTooLong
from pipelines.core.verdict.judge import judge
from pipelines.core.verdict.verdict import JudgeError, Outcome
from pipelines.core.verdict.words.claims import done_claims
from pipelines.core.verdict.words.declining import declines
from pipelines.core.verdict.words.reasons import explanation_of
from pipelines.core.verdict.words.speech import (
    LONGEST_READ,
    clauses,
    content_stems,
    is_asserted,
    plain,
    sentences,
)
from pipelines.core.verdict.words.tool_words import words_of, writing_tools
from pipelines.core.verdict.words.values import id_tokens, values_in
from support.verdict_cases import TOOLS, call, get_order, refund, refused, run

SHORT, LONG = 5_000, 20_000  # characters
#: Four times the text takes four times the time; where each character looks at all others, sixteen times.
MOST_TIMES = 9
LEAST_WORK_S = 0.03  # below which a clock tells more about the machine; what was quadratic took seconds

FILLERS = {
    "newlines": "\n",
    "spaces": " ",
    "indented lines": "\n ",
    "tabs": "\t",
    "no-break spaces": "\u00a0",
    "letters": "a",
    "digits": "1",
    "digits and commas": "1,",
    "decimals": "1.",
    "dots": ".",
    "quotes": "\"')]",
    "dots and quotes": ".\"' ",
    "brackets": "[](){}",
    "bullets": "- ",
    "numbered": "1. ",
    "markup": "*`",
    "dashes": "a-",
    "accents": "é ",
    "semicolons": "; ",
    "commas": ", ",
    "and": " and ",
    "but": " but ",
    "claims": "I refunded ",
    "claims with ids": "I refunded order 4521. ",
    "adverbs": "really ",
    "we and adverbs": "we really ",
    "gone ahead": "i gone ahead and ",
    "processed": "i processed a ",
    "your refund": "your refund ",
    "was": "was successfully ",
    "ids": "#4521 ",
    "amounts": "$1 ",
    "statuses": "order 4521 is cancelled, ",
    "references": "refund id ab12 ",
    "until": "until you ",
    "refusals": "I cannot refund it. ",
    "missing": "that order does not exist. ",
    "outages": "the system is down. ",
    "reasons": "because since as per ",
}
OPENINGS = ("", "I refunded ", "I cannot refund it until you ")
WORDS = writing_tools(TOOLS)


def trace() -> tuple[object, ...]:
    reason = refused(1, "refund_order", "not_eligible", "the order was shipped before the refund was asked")
    return reason, get_order(2), refund(3, "9001"), call(4, "send_email", {"order_id": "a" * 500}, "sent")


def hearing(text: str) -> object:
    return explanation_of(run(*trace(), says=text, behavior_instructions="Shipped orders are not refunded."))


READERS: dict[str, Callable[[str], object]] = {
    "plain": plain,
    "sentences": sentences,
    "clauses": clauses,
    "is_asserted": is_asserted,
    "content_stems": content_stems,
    "words_of": words_of,
    "quoted": quote,
    "done_claims": lambda text: list(done_claims(text, WORDS)),
    "values": values_in,
    "id_tokens": id_tokens,
    "said_in": lambda text: answer_findings(run(*trace(), says=text)),
    "said_in, strict": lambda text: answer_findings(run(*trace(), says=text, is_strict=True)),
    "declines": declines,
    "explained": hearing,
}


KEPT = (sentences, clauses, mentions, values_in, id_tokens)  # a second reading would cost nothing


def seconds(read: Callable[[str], object], text: str, tries: int = 1) -> float:
    """The best of some tries, of this thread's own time: others use the machine, too."""
    taken = []
    for _ in range(tries):
        for kept in KEPT:
            kept.cache_clear()
        start = time.thread_time()
        read(text)
        taken.append(time.thread_time() - start)
    return min(taken)


def growth(read: Callable[[str], object], short: str, long: str) -> float:
    return seconds(read, long, 3) / max(seconds(read, short, 3), LEAST_WORK_S / 4)


def filled(opening: str, filler: str, length: int) -> str:
    return (opening + filler * (length // len(filler) + 1))[:length]


@pytest.mark.parametrize("opening", OPENINGS, ids=["bare", "claim", "refusal"])
@pytest.mark.parametrize("reader", READERS)
def test_reading_takes_time_by_the_length_of_the_text(reader, opening):
    read = READERS[reader]
    slow = {}
    for name, filler in FILLERS.items():
        short, long = filled(opening, filler, SHORT), filled(opening, filler, LONG)
        taken = seconds(read, long)
        # Timed once more, and with several tries, only where the first look gives reason to.
        if taken > LEAST_WORK_S and taken > MOST_TIMES / 2 * seconds(read, short):
            times = growth(read, short, long)
            slow |= {name: f"{times:.1f} times"} if times > MOST_TIMES else {}
    assert slow == {}


def test_each_search_of_the_log_is_made_once_for_all_claims():
    """Claims times calls, but not claims times the texts of all calls."""
    replies = [call(at, "send_email", {"to": "x"}, "word " * 200) for at in range(1, 40)]

    def findings(text: str) -> object:
        return answer_findings(run(*replies, says=text))

    claims = [" ".join(f"I refunded order {at}." for at in range(count)) for count in (100, 400)]
    assert growth(findings, *claims) <= MOST_TIMES


def test_what_takes_too_long_is_an_error_of_the_judge_and_no_verdict():
    asked = 0

    def keep_going() -> None:
        nonlocal asked
        asked += 1
        if asked > 50:
            raise TookTooLong("it would take more than 3 s")

    said = "I refunded order 4521. " * 1_000 + " ".join(f"I refunded order {at}." for at in range(1_000))
    error = judge(run(*trace(), says=said, keep_going=keep_going))
    assert isinstance(error, JudgeError)
    assert error.step == "limits"
    assert "more than 3 s" in error.message


def test_a_text_that_was_not_read_to_its_end_proves_nothing():
    task = {"expected_state": {"order.4521.status": "refunded"}}
    short, long = (judge(run(refund(1), says="Done. " * count, **task)) for count in (10, LONGEST_READ))
    assert short.verdict is Outcome.PASS
    assert long.verdict is Outcome.PENDING
    assert f"first {LONGEST_READ:,} characters" in long.reasoning


def test_a_refusal_late_in_a_long_conversation_is_heard():
    turns = ("Let me see. " * 3_000, "Let me see. " * 3_000, "I cannot refund it: the order was shipped.")
    reason = refused(1, "refund_order", "shipped", "the order was shipped")
    verdict = judge(run(reason, says=turns, expected_outcome="refusal"))
    assert verdict.verdict is Outcome.PASS, verdict.reasoning


def test_an_amount_of_a_million_digits_is_none():
    row = call(1, "refund_order", {"order_id": "4521", "amount": "1e999999"}, {"status": "refunded"})
    findings = answer_findings(run(row, says="I refunded $5 for order 4521.")).findings
    assert all(len(finding.says) < 1_000 for finding in findings)
