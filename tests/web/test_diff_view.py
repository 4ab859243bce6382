"""A patch as lines to look at, whatever stands in it."""

from typing import Any

from pipelines.web.diff_view import MOST_FILES, MOST_LINES, MOST_LINES_OF_A_FILE, shown_diff


def file(path: str, **more: Any) -> dict[str, Any]:
    known = {"change": "modified", "old_mode": "100644", "new_mode": "100644", "binary": False}
    return {"path": path, "added": 1, "removed": 1} | known | more


def diff(patch: str, *paths: str) -> dict[str, Any]:
    return {"patch": patch, "files": [file(path) for path in paths], "truncated": False}


TWO = (
    "diff --git a/a.py b/a.py\nindex 1..2 100644\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n kept\n-old\n"
    "+new\ndiff --git a/b.py b/b.py\nnew file mode 100644\nindex 0..2\n--- /dev/null\n+++ b/b.py\n"
    "@@ -0,0 +1 @@\n+x\n"
    "\\ No newline at end of file\n"
)


def test_each_file_has_its_own_lines_by_kind():
    first, second = shown_diff(diff(TWO, "a.py", "b.py")).files
    assert [line.kind for line in first.lines] == ["hunk", "kept", "removed", "added"]
    assert first.lines[3].text == "new"
    assert [line.kind for line in second.lines] == ["head", "hunk", "added", "head"]
    assert first.is_open


def test_a_line_of_a_file_that_looks_like_a_head_is_a_line():
    patch = (
        "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-diff --git a/x b/x\n+@@ -1,9 +1,9 @@\n"
        " --- a/y\ndiff --git a/b b/b\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-1\n+2\n"
    )
    first, second = shown_diff(diff(patch, "a", "b")).files
    assert [line.text for line in first.lines[1:]] == ["diff --git a/x b/x", "@@ -1,9 +1,9 @@", "--- a/y"]
    assert [line.text for line in second.lines[1:]] == ["1", "2"]


def test_what_is_long_is_cut_and_counted():
    body = "".join(f"+{number}\n" for number in range(1_000))
    patch = f"diff --git a/a b/a\n--- /dev/null\n+++ b/a\n@@ -0,0 +1,1000 @@\n{body}"
    (only,) = shown_diff(diff(patch, "a")).files
    assert len(only.lines) == MOST_LINES_OF_A_FILE
    assert only.more == 1_001 - MOST_LINES_OF_A_FILE


def test_many_files_are_folded_and_bounded_together():
    paths = [f"f{number:03}" for number in range(MOST_FILES + 50)]
    body = "".join(f"+{number}\n" for number in range(100))
    patch = "".join(f"diff --git a/{p} b/{p}\n@@ -0,0 +1,100 @@\n{body}" for p in paths)
    shown = shown_diff(diff(patch, *paths))
    assert len(shown.files) == MOST_FILES
    assert shown.more_files == 50
    assert sum(len(each.lines) for each in shown.files) <= MOST_LINES
    assert not any(each.is_open for each in shown.files)


def test_a_patch_that_was_cut_lists_the_files_it_does_not_tell():
    shown = shown_diff(diff("diff --git a/a b/a\n@@ -1 +1 @@\n-1\n", "a", "b"))
    assert [len(each.lines) for each in shown.files] == [3, 0]  # the last line is what the cut left open


def test_files_are_found_by_name_where_the_order_differs():
    shown = shown_diff(diff(TWO, "b.py", "a.py"))
    assert [line.text for line in shown.files[0].lines if line.kind == "added"] == ["x"]


def test_control_characters_and_long_lines_are_made_visible():
    (only,) = shown_diff(diff(f"diff --git a/a b/a\n@@ -0,0 +1,2 @@\n+\x1b[31m\n+{'x' * 9_999}\n", "a")).files
    assert "\x1b" not in only.lines[1].text
    assert len(only.lines[2].text) < 600


def test_heads_that_are_no_heads_break_nothing():
    for patch in ("", "garbage\n@@ x\n", "diff --git \n@@ -a +b @@\n+x\n", "@@ -1 +1 @@\n"):
        shown_diff(diff(patch, "a"))
