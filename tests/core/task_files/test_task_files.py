"""Task files as people have them: what is taken, with which notes, and what is refused with which message.

The cases were written before the code: files as spreadsheets of several languages, editors and scripts
save them.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.task_files.read_tasks import format_of, parse_tasks, read_tasks
from pipelines.core.tasks.task_columns import COLUMNS, column_of
from pipelines.core.text.problems import Refused

ORDER = {"order": {"4521": {"total": 79.5, "note": "a; b, c"}}}
CELL = '"' + json.dumps(ORDER).replace('"', '""') + '"'
BARE = json.dumps({"order": {"4521": {"total": 79.5}}})
SEMICOLONS = "The columns are separated by semicolons."
TABS = "The columns are separated by tabs."
UTF_16 = "The file is read as UTF-16."


def read_as(*names, meant=""):
    if len(names) == 1:
        return f"The column `{names[0]}` is used as `{column_of(names[0]).name}`.{meant}"
    listed = ", ".join(f"`{name}` as `{column_of(name).name}`" for name in names)
    return f"{len(names)} columns are renamed: {listed}.{meant}"


def taken(data, name="tasks.csv"):
    data = data.encode() if isinstance(data, str) else data
    return read_tasks(data, format=format_of(name))


def refusal(data, name="tasks.csv"):
    with pytest.raises(Refused) as found:
        taken(data, name)
    return found.value


# -- taken: file, what its only task says, what is noted

HI = {"user_instruction": "Hi."}
HELLO = {"user_instruction": "Grüß Gott, 5 € – “now”."}
STATE = {"user_instruction": "Hi.", "initial_state": ORDER}
BARE_STATE = {"user_instruction": "Hi.", "initial_state": json.loads(BARE)}
TAKEN = {
    "Excel, English: CSV UTF-8": (b"\xef\xbb\xbfuser,state\r\nHi.," + CELL.encode() + b"\r\n", STATE, []),
    "Excel, English: CSV (no mark)": (f"user,state\r\nHi.,{CELL}\r\n", STATE, []),
    "Excel, German: CSV UTF-8": (f"\ufeffuser;state\r\nHi.;{CELL}\r\n", STATE, [SEMICOLONS]),
    "Excel, French: a cell with commas is bare": (
        "user;tags\r\nHi.;a,b\r\n",
        HI | {"tags": ["a", "b"]},
        [SEMICOLONS],
    ),
    "Excel, German: JSON bare, its commas are no separators": (
        f"user;state\nHi.;{BARE}\n",
        BARE_STATE,
        [SEMICOLONS],
    ),
    "Excel: Unicode text": (f"user\tstate\r\nHi.\t{CELL}\r\n".encode("utf-16"), STATE, [UTF_16, TABS]),
    "Excel: Unicode text, big-endian": (
        b"\xfe\xff" + f"user\tstate\r\nHi.\t{CELL}\r\n".encode("utf-16-be"),
        STATE,
        [UTF_16, TABS],
    ),
    "UTF-16 without a mark": ("user\nHi.".encode("utf-16-le"), HI, [UTF_16]),
    "UTF-16 without a mark, big-endian": ("user\nHi.".encode("utf-16-be"), HI, [UTF_16]),
    "PowerShell: UTF-16 with commas": ('"user"\r\n"Hi."\r\n'.encode("utf-16"), HI, [UTF_16]),
    "Excel: the separator named": ("sep=;\r\nuser;tags\r\nHi.;a\r\n", HI | {"tags": ["a"]}, [SEMICOLONS]),
    "the separator named, quoted": ('"sep=;"\nuser;tags\nHi.;a\n', HI | {"tags": ["a"]}, [SEMICOLONS]),
    "the separator named, and it is the comma": ("sep=,\nuser,tags\nHi.,a\n", HI | {"tags": ["a"]}, []),
    "Google Sheets: TSV": (f"user\tstate\nHi.\t{BARE}\n", BARE_STATE, [TABS]),
    "Google Sheets: CSV": (f"user,state\r\nHi.,{CELL}", STATE, []),
    "LibreOffice: every text quoted": (f'"user","state"\n"Hi.",{CELL}\n', STATE, []),
    "LibreOffice: semicolons, quoted": (f'"user";"state"\n"Hi.";{CELL}\n', STATE, [SEMICOLONS]),
    "Numbers: CSV with trailing commas": ("user,tags,,,\nHi.,a,,,\n,,,,\n,,,,\n", HI | {"tags": ["a"]}, []),
    "rows longer than the header by empty cells": ("user,tags\nHi.,a,,\n", HI | {"tags": ["a"]}, []),
    "vertical bars": (
        "user|tags\nHi.|a\n",
        HI | {"tags": ["a"]},
        ["The columns are separated by vertical bars."],
    ),
    "an old Mac's line ends": ("user,tags\rHi.,a\r", HI | {"tags": ["a"]}, []),
    "blank lines around": ("\r\n\r\nuser\r\n\r\nHi.\r\n\r\n", HI, []),
    "Windows text in UTF-8": (
        "user\n" + HELLO["user_instruction"].replace(",", "") + "\n",
        {"user_instruction": "Grüß Gott 5 € – “now”."},
        [],
    ),
    "smart quotes in a text": ('user\n"Grüß Gott, 5 € – “now”."\n', HELLO, []),
    "title case": ("User,Tags\nHi.,a\n", HI | {"tags": ["a"]}, [read_as("User", "Tags")]),
    "title case with spaces, quoted": (
        '"User","Expected Outcome"\n"Hi.","Refusal"\n',
        HI | {"expected_outcome": "refusal"},
        [read_as("User", "Expected Outcome")],
    ),
    "capitals": ("USER\nHi.\n", HI, [read_as("USER")]),
    "hyphens": (
        "user,expected-outcome\nHi.,refusal\n",
        HI | {"expected_outcome": "refusal"},
        [read_as("expected-outcome")],
    ),
    "camel case": (
        "user,expectedOutcome\nHi.,refusal\n",
        HI | {"expected_outcome": "refusal"},
        [read_as("expectedOutcome")],
    ),
    "a hard space in a name": (
        "user,expected\u00a0outcome\nHi.,refusal\n",
        HI | {"expected_outcome": "refusal"},
        ["The column `expected\u00a0outcome` is used as `expected_outcome`."],
    ),
    "axis names": (
        f"user_instruction,initial_state\nHi.,{CELL}\n",
        STATE,
        [read_as("user_instruction", "initial_state", meant=" Did you mean `user` and `state`?")],
    ),
    "axis names in title case, semicolons": (
        f"User Instruction;Initial State\nHi.;{CELL}\n",
        STATE,
        [
            SEMICOLONS,
            read_as("User Instruction", "Initial State", meant=" Did you mean `user` and `state`?"),
        ],
    ),
    "line breaks in a cell": (
        'user;tags\r\n"Hi.\r\nThere.";a\r\n',
        {"user_instruction": "Hi.\r\nThere.", "tags": ["a"]},
        [SEMICOLONS],
    ),
    "a semicolon in a comma file": (
        "user,tags\nHi; there.,a\n",
        {"user_instruction": "Hi; there.", "tags": ["a"]},
        [],
    ),
    "a tab in a comma file": (
        "user,tags\nHi\tthere.,a\n",
        {"user_instruction": "Hi\tthere.", "tags": ["a"]},
        [],
    ),
    "no line end at the end": ("user;tags\nHi.;a", HI | {"tags": ["a"]}, [SEMICOLONS]),
}


@pytest.mark.parametrize(("data", "axes", "notes"), TAKEN.values(), ids=TAKEN)
def test_tables_as_people_have_them_are_taken(data, axes, notes):
    read = taken(data)
    assert [seed.as_json() for seed in read.seeds] == [axes]
    assert list(read.notes) == notes


YAML = """\
# What a person writes.
- user: Hi.
  state:
    order:
      "4521": {total: 79.5, note: "a; b, c"}
"""
OTHER_FORMATS = {
    "YAML": ("t.yaml", YAML, STATE, []),
    "YAML with rows": ("t.yml", "rows:\n- user: Hi.\n  tags: [a]\n", HI | {"tags": ["a"]}, []),
    "YAML, UTF-16": ("t.yml", "- user: Hi.\n".encode("utf-16"), HI, [UTF_16]),
    "YAML, axis names": (
        "t.yaml",
        "- User Instruction: Hi.\n",
        HI,
        [read_as("User Instruction", meant=" Did you mean `user`?")],
    ),
    "YAML, block text": (
        "t.yaml",
        "- user: |\n    Hi.\n    There.\n",
        {"user_instruction": "Hi.\nThere.\n"},
        [],
    ),
    "JSON": ("t.json", json.dumps([{"user": "Hi.", "state": ORDER}]), STATE, []),
    "JSON with a mark": ("t.json", b"\xef\xbb\xbf" + json.dumps([{"user": "Hi."}]).encode(), HI, []),
    "JSON as exported": (
        "t.json",
        json.dumps({"name": "x", "rows": [{"user": "Hi.", "state": ORDER}]}),
        STATE,
        [],
    ),
    "JSONL": ("t.jsonl", json.dumps({"user": "Hi.", "state": ORDER}) + "\n", STATE, []),
    "JSONL, CRLF, blank lines": ("T.JSONL", '\r\n{"user": "Hi."}\r\n\r\n', HI, []),
    "JSONL, a line separator in a text": (
        "t.jsonl",
        '{"user": "a\u2028b"}',
        {"user_instruction": "a\u2028b"},
        [],
    ),
    "NDJSON": ("t.ndjson", '{"user": "Hi."}', HI, []),
    "TSV by name": ("t.tsv", "user\ttags\nHi.\ta\n", HI | {"tags": ["a"]}, [TABS]),
    "no extension": ("tasks", "user\nHi.\n", HI, []),
}


@pytest.mark.parametrize(("name", "data", "axes", "notes"), OTHER_FORMATS.values(), ids=OTHER_FORMATS)
def test_yaml_json_and_jsonl_hold_the_same_tasks(name, data, axes, notes):
    read = taken(data, name)
    assert [seed.as_json() for seed in read.seeds] == [axes]
    assert list(read.notes) == notes


# -- refused: one message that says what the file is and what to do

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 4
ZIP = b"PK\x03\x04\x14\0\x06\0\x08\0\0\0!\0"
PROSE = """Dear team,

please refund order 4521, order 4522, and order 4523; the customers, who are angry, wait.
Thank you, kind regards, and so on.
"""
NO_TABLE = {
    "a PDF": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj, <<a, b>>\n", "a PDF", "CSV"),
    "an Excel workbook": (ZIP + b"[Content_Types].xml" + PNG, "an Excel workbook", "CSV UTF-8"),
    "an Excel workbook of 1997": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "Excel", "CSV UTF-8"),
    "a LibreOffice sheet": (
        ZIP + b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
        "LibreOffice",
        "CSV",
    ),
    "a Numbers document": (ZIP + b"Index/Document.iwa", "Numbers", "CSV"),
    "a zip": (ZIP + b"notes.txt", "a zip archive", "CSV"),
    "gzip": (b"\x1f\x8b\x08\0\0\0\0\0", "gzip", "unpack"),
    "an image": (PNG, "an image", "CSV"),
    "a photo": (b"\xff\xd8\xff\xe0\0\x10JFIF" + PNG, "an image", "CSV"),
    "Parquet": (b"PAR1" + bytes(100) + b"PAR1", "Parquet", "CSV"),
    "SQLite": (b"SQLite format 3\0" + bytes(100), "SQLite", "CSV"),
    "HTML": ("<!DOCTYPE html>\n<html><body>Sign in, please</body></html>\n", "HTML", "download"),
    "HTML without a doctype": ("\n <html lang=en>\n", "HTML", "download"),
    "XML": ('<?xml version="1.0"?><Workbook/>\n', "XML", "CSV"),
    "prose": (PROSE, "has no column of a task", "`user`"),
    "one line of prose": ("Refund order 4521, please; it is late.", "has no column of a task", "`user`"),
    "columns of something else": (
        "Date;Amount;Customer\n1.5.;79,50;Ada\n",
        "has no column of a task",
        "`user`",
    ),
    "JSON named CSV": ('[{"user": "Hi."}]', "JSON", ".json"),
    "JSONL named CSV": ('{"user": "Hi."}\n{"user": "Ho."}\n', "JSON", ".jsonl"),
    "YAML named CSV": ("- user: Hi.\n  tags: [a, b]\n", "has no column of a task", ".yaml"),
    "a title above the columns": (
        "Table 1,,\nuser,state,tags\nHi.,{},a\n",
        "has no column of a task",
        "row 2",
    ),
    "typographic quotes for quotes": ("“user”,“state”\n“Hi.”,“{}”\n", "has no column of a task", "straight"),
    "nothing": (b"", "the file is empty", "`user`"),
    "only a mark": (b"\xef\xbb\xbf", "the file is empty", "`user`"),
    "only a UTF-16 mark": (b"\xff\xfe", "the file is empty", "`user`"),
    "spaces": ("  \n \n", "the file is empty", "`user`"),
    "half a UTF-16 character": ("user\nHi.".encode("utf-16") + b"x", "UTF-16", "UTF-8"),
    "Windows-1252": ("user\nÉtat 5 €\n".encode("cp1252"), "could be Windows-1252 (`État 5 €`)", "CSV UTF-8"),
    "Mac Roman": ("user\nÉtat\n".encode("mac-roman"), "or Mac Roman (`État`)", "CSV UTF-8"),
    "Latin-1": ("user;tags\ngrün;a\n".encode("latin-1"), "`grün", "CSV UTF-8"),
    "a separator that is none": ("sep=x\nuserxtags\n", "sep=x", "sep=;"),
    "a header in two ways": ("user;x,user\na;b,c\n", "two ways", "sep="),
    "a header alone": ("user;state\n", "the upload has no rows", None),
}


@pytest.mark.parametrize(("data", "says", "do"), NO_TABLE.values(), ids=NO_TABLE)
def test_a_file_that_is_no_table_gets_one_message(data, says, do):
    (problem,) = refusal(data).problems
    assert says in problem.message
    assert (do in (problem.hint or "")) if do is not None else problem.hint is None
    assert len(problem.message) < 400


def test_both_readings_of_an_ambiguous_header_are_shown():
    (problem,) = refusal("user;x,user\na;b,c\n").problems
    assert "with commas as `user;x`, `user`" in problem.message
    assert "with semicolons as `user`, `x,user`" in problem.message


CLASHES = {
    "a column and its axis": ("user,user_instruction\na,b\n", "`user` and `user_instruction`"),
    "the same in another case": ("user,User\na,b\n", "`user` and `User`"),
    "three of one": ("User;user;USER\na;b;c\n", "`User`, `user` and `USER`"),
}


@pytest.mark.parametrize(("data", "says"), CLASHES.values(), ids=CLASHES)
def test_two_names_of_one_column_are_refused_once(data, says):
    (problem,) = refusal(data).problems
    assert says in problem.message
    assert problem.hint


def test_two_names_of_one_column_in_json_are_refused_with_their_place():
    (problem,) = refusal(
        json.dumps([{"user": "a"}, {"user": "a", "user_instruction": "b"}]), "t.json"
    ).problems
    assert (problem.row, problem.path) == (2, "/1/user_instruction")
    assert "`user`" in problem.message
    assert taken(json.dumps([{"user": "a", "user_instruction": None}]), "t.json").seeds


def test_a_column_twice_is_told_once():
    (problem,) = refusal("user,user,user\na,b,c\n").problems
    assert problem.message == "the header has the column `user` 3 times"


# -- rows as the sheet numbers them

PLACES = {
    "the first task is in row 2": ("t.csv", "user,max_turns\na,x\n", (2, "row 2, column max_turns")),
    "empty rows count": ("t.csv", "user,max_turns\n,\n,\na,x\n", (4, "row 4, column max_turns")),
    "rows above the header count": ("t.csv", "\n\nuser,max_turns\na,x\n", (4, "row 4, column max_turns")),
    "the separator's line is no row": (
        "t.csv",
        "sep=;\nuser;max_turns\na;x\n",
        (2, "row 2, column max_turns"),
    ),
    "a cell of three lines is one row": (
        "t.csv",
        'user,max_turns\n"a\nb\nc",1\nd,x\n',
        (3, "row 3, column max_turns"),
    ),
    "the author's own heading": ("t.csv", "User;Max Turns\na;x\n", (2, "row 2, column Max Turns")),
    "a cell that never ends": ("t.csv", 'user,tags\na,b\n"c,d\n', (3, "row 3")),
    "too many cells": ("t.csv", "user,tags\na,b\nc,d,e\n", (3, "row 3")),
    "a line of JSONL": (
        "t.jsonl",
        '{"user": "a"}\n\n{"user": "a", "max_turns": "x"}\n',
        (3, "line 3: /max_turns"),
    ),
    "a broken line of JSONL": ("t.jsonl", '{"user": "a"}\n{"user": \n', (2, "line 2")),
    "an entry of JSON": ("t.json", '[{"user": "a"}, {"user": "a", "max_turns": "x"}]', (2, "/1/max_turns")),
    "an entry of YAML": (
        "t.yaml",
        "- user: a\n- user: b\n  Max turns: x\n",
        (2, "line 3, column 3: /1/Max turns"),
    ),
    "inside a cell": ("t.csv", 'user,state\na,"{""order"": 1}"\n', (2, "row 2, column state, at /order")),
    "inside an entry of JSONL": (
        "t.jsonl",
        '{"user": "a", "state": {"order": 1}}',
        (1, "line 1: /state/order"),
    ),
}


@pytest.mark.parametrize(("name", "data", "place"), PLACES.values(), ids=PLACES)
def test_a_problem_says_where_as_the_authors_program_counts(name, data, place):
    (problem,) = refusal(data, name).problems
    assert (problem.row, problem.path) == place


def test_a_task_knows_its_row():
    read = taken('\nuser,tags\n"a\nb",x\n,\nc,y\n')
    assert read.rows == (3, 5)


def test_all_problems_of_every_format_come_at_once():
    rows = [{"user": "", "max_turns": "x"}, {"user": "a", "colour": 1}, 5]
    lines = "\n".join(map(json.dumps, rows)) + "\n{\n"
    assert [problem.row for problem in refusal(lines, "t.jsonl").problems] == [1, 1, 2, 3, 4]
    assert [problem.row for problem in refusal(json.dumps(rows), "t.json").problems] == [1, 1, 2, 3]
    as_yaml = "- {user: '', max_turns: x}\n- {user: a, colour: 1}\n- 5\n"
    assert [problem.row for problem in refusal(as_yaml, "t.yaml").problems] == [1, 1, 2, 3]


OTHER_REFUSALS = {
    "JSONL that is JSON": ("t.jsonl", '[\n{"user": "a"}\n]\n', ".json"),
    "JSON that is JSONL": ("t.json", '{"user": "a"}\n{"user": "b"}\n', ".jsonl"),
    "JSON of one task": ("t.json", '{"user": "a"}', "array"),
    "YAML of one task": ("t.yaml", "user: a\n", "- user"),
    "a text": ("t.yaml", "Dear team, please refund.\n", "- user"),
    "YAML that is none": ("t.yaml", "- user: [a\n", None),
    "an empty YAML": ("t.yaml", "# nothing\n", "user"),
    "an empty JSON": ("t.json", "", "user"),
    "an empty JSONL": ("t.jsonl", "\n\n", "user"),
    "a workbook by another name": ("t.jsonl", ZIP + b"xl/workbook.xml", "CSV UTF-8"),
    "other keys beside rows": ("t.json", '{"rows": [{"user": "a"}], "colour": 1}', None),
    "a YAML of gigabytes": ("t.yaml", "a: &a [x, x]\nb: &b [*a, *a]\n", None),
}


@pytest.mark.parametrize(("name", "data", "do"), OTHER_REFUSALS.values(), ids=OTHER_REFUSALS)
def test_what_is_no_list_of_tasks_gets_one_message(name, data, do):
    (problem,) = refusal(data, name).problems
    assert do is None or do in problem.hint


# -- cells are never touched


def test_a_decimal_comma_in_json_is_refused_not_mended():
    (problem,) = refusal('user;state\na;{"order": {"1": {"total": 79,50}}}\n').problems
    assert "JSON" in problem.message
    assert "point" in problem.hint


def test_a_decimal_comma_in_a_text_stays():
    (seed,) = taken("user;tags\nErstatte 79,50 €;a\n").seeds
    assert seed.user_instruction == "Erstatte 79,50 €"


names = st.sampled_from([name for column in COLUMNS for name in (column.name, column.axis)])


@given(names, st.sampled_from([str.title, str.upper, str.capitalize, str.lower]), st.sampled_from("_ -"))
def test_every_spelling_of_a_name_is_the_same_column(name, case, joint):
    written = case(name).replace("_", joint)
    assert column_of(f" {written} ") == column_of(name)


def test_no_two_columns_are_spelled_alike():
    spelled = {}
    for column in COLUMNS:
        for name in {column.name, column.axis}:
            loose = name.replace("_", "")
            assert spelled.setdefault(loose, column) == column


cells = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)


@given(
    st.lists(cells.filter(str.strip), min_size=1, max_size=4),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_is_quoted_comes_back_under_every_separator_and_encoding(texts, separator, encoding, end):
    lines = [f"user{separator}tags"] + ['"' + text.replace('"', '""') + f'"{separator}x' for text in texts]
    read = taken(end.join(lines).encode(encoding))
    assert [seed.user_instruction for seed in read.seeds] == texts


def test_parse_tasks_takes_a_table_without_a_name():
    assert parse_tasks(b"User;Tags\nHi.;a\n")[0].tags == ("a",)
