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
