"""What newcomers wrote and the language did not read, or read wrongly."""

import pytest
from tests.core.simulation.rules.language.worlds import (
    canonical,
    expressions,
    numbers,
    reader_of,
    shop,
    stop_of,
    tool,
)


@pytest.mark.parametrize(
    ("sentence", "expression"),
    [
        ("refund_order fails when the order's balance is less than -15.", "not order.balance < -15"),
        ("refund_order fails when the order's balance is below minus 15.", "not order.balance < -15"),
        (
            "refund_order only works when the order's balance is between -30 and 8.",
            "order.balance >= -30 and order.balance <= 8",
        ),
        ("refund_order fails when the order's balance is -5.", "order.balance != -5"),
        ("refund_order fails when the order's balance is one of -5, -6.", "order.balance not in [-5, -6]"),
        (
            "refund_order fails when the order's total - 3 is more than the order's balance minus 2.",
            "not order.total - 3 > order.balance - 2",
        ),
        ("refund_order sets the order's balance to -1.", "-1"),
    ],
)
def test_numbers_below_zero(sentence: str, expression: str) -> None:
    assert expressions(sentence) == [expression]
    [said] = canonical(sentence)
    assert expressions(said) == [expression]


RENTALS = {
    "locker": {
        "l-1": {"monthly_rate": 20, "size": "small", "status": "free"},
        "l-2": {"monthly_rate": 45, "size": "large", "status": "rented"},
    },
    "member": {"m-1": {"name": "Ada", "skates": 2}},
    "skate": {"s-1": {"member_id": "m-1", "size": 38}},
}
LOCKERS = (
    numbers(tool("search_lockers", "max_monthly_rate?", "size?"), "max_monthly_rate"),
    tool("rent_locker", "member_id", "locker_id"),
    tool("get_member", "member_id"),
)


@pytest.mark.parametrize(
    ("sentence", "expression"),
    [
        (
            "search_lockers excludes lockers whose monthly_rate is more than the given max_monthly_rate.",
            "not each.monthly_rate > args.max_monthly_rate",
        ),
        (
            "search_lockers excludes lockers whose monthly_rate is more than args.max_monthly_rate.",
            "not each.monthly_rate > args.max_monthly_rate",
        ),
        (
            "search_lockers excludes lockers whose monthly_rate is more than max_monthly_rate.",
            "not each.monthly_rate > args.max_monthly_rate",
        ),
        (
            "search_lockers returns only lockers whose size is the given size.",
            "each.size == args.size",
        ),
        ("search_lockers returns only lockers whose size is small.", "each.size == 'small'"),
    ],
)
def test_a_filter_compares_with_arguments(sentence: str, expression: str) -> None:
    assert expressions(sentence, reader_of(RENTALS, *LOCKERS)) == [expression]


@pytest.mark.parametrize(
    ("sentence", "words", "message"),
    [
        ("A member may not have more than 1 skate.", "skate", "no tool is known to add a skate"),
        ("No two skates may share a size.", "skates", "no tool that changes a skate takes `size`"),
        ("Unknown skate ids return a 404 no_such_skate error.", "skate", "no tool takes the id of a skate"),
        ("Members may only see their own skates.", "skates", "no tool shows a skate"),
        ("title must be positive.", "title", ""),
    ],
)
def test_a_statement_that_no_tool_can_break_is_not_read(sentence: str, words: str, message: str) -> None:
    stop = stop_of(sentence, reader_of(RENTALS, *LOCKERS))
    assert stop.words == words
    assert message in stop.message


def test_only_that_all_tools_succeed_is_read_without_a_rule() -> None:
    reading = shop().read("All tools succeed.")
    assert reading.is_read
    assert reading.rules == ()


@pytest.mark.parametrize(
    ("sentence", "expression"),
    [
        (
            "cancel_order fails when the order's status is one of 'shipped', 'gone' and `order.total > 5`.",
            "not (order.status in ['shipped', 'gone'] and order.total > 5)",
        ),
        (
            "cancel_order fails when the order's status is 'shipped' or `order.total > 5`.",
            "not (order.status == 'shipped' or order.total > 5)",
        ),
        (
            "cancel_order fails when the order's status is one of 'shipped', 'delivered' or the order's "
            "total is more than 5.",
            "not (order.status in ['shipped', 'delivered'] or order.total > 5)",
        ),
        (
            "cancel_order fails when the status is one of shipped, delivered and cancelled.",
            "order.status not in ['shipped', 'delivered', 'cancelled']",
        ),
    ],
)
def test_a_list_of_values_does_not_run_on_into_the_next_condition(sentence: str, expression: str) -> None:
    assert expressions(sentence) == [expression]


def test_what_an_argument_must_be_is_said_of_other_arguments_first() -> None:
    leave = {"leave": {"l-1": {"start_date": "2026-07-01", "end_date": "2026-07-05"}}}
    reader = reader_of(leave, tool("change_leave", "leave_id", "start_date", "end_date"))
    assert expressions("end_date must not be before start_date.", reader) == [
        "not is_before(args.end_date, args.start_date)"
    ]
