"""Makes texts safe in CSV files that people open in spreadsheets."""

import re

# Spreadsheets run a text that begins with one of these. A semicolon, tab or line end may begin a cell of its
# own where the separator is not a comma, so what follows them counts as a beginning too. So does what follows
# quotes, which are doubled in the file. The wide forms are read as the narrow ones in some locales.
_FORMULA = re.compile(r"""(^|[;\t\r\n])([\s"]*)([=+\-@|%＝＋－＠])""")


def spreadsheet_cell(text: str) -> str:
    """The text with an apostrophe before whatever a spreadsheet would take for a formula.

    >>> spreadsheet_cell("=1+1"), spreadsheet_cell("2 - 1")
    ("'=1+1", '2 - 1')
    """
    return _FORMULA.sub(r"\1\2'\3", text)


def spreadsheet_value(value: object) -> str:
    """A cell for any value: numbers stay as they are, so that people can sum them; None is empty."""
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return spreadsheet_cell(str(value))
