"""What arguments alone answer, the time, and figures that no record keeps."""

import pytest
from family_tables import Row, check, rows

TABLE = """
calculate(expression): Calculates an expression.
  -> returns round(result, 10)
add(a:number, b:number): Adds two numbers.
  -> returns args.a + args.b
divide(a:number, b:number): Divides a by b.
  -> returns args.a / args.b
get_current_time(): Returns the current time.
  -> returns {'current_time': 'now'}
quote_rate(lane, weight:number): Quotes the rate of a load on a lane.
  ->? returns {'rate': None}
"""


@pytest.mark.parametrize("row", rows(TABLE), ids=str)
def test_the_answer_is_in_the_arguments_or_invented(row: Row) -> None:
    check(row, "computing", "computed")
