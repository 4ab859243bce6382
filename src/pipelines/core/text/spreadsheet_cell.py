"""A text as a cell of a CSV file that people open in a spreadsheet.

A spreadsheet runs a cell as a formula if it begins with one of a few characters, and the texts of agents and
users begin with anything. An apostrophe in front makes it text.
"""

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def spreadsheet_cell(value: object) -> str:
    """Numbers stay as they are, so that people can sum them; None is empty."""
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    text = str(value)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
