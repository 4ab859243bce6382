"""Zip archives that lie, grow, or lead elsewhere: refused before anything is unpacked."""

import io
import struct
import zipfile
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.code import code_zip
from pipelines.core.code.code_tree import CodeFile, pack_tree
from pipelines.core.code.code_zip import read_archive, unpack_archive
from pipelines.core.text.problems import Refused

AGENT = b"def run(task_input, *, proxy_url, run_token):\n    return 'done'\n"


def zipped(files, **options):
    """Names as they are given, also those that zipfile itself would mend."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in files.items():
            info = entry if isinstance(entry, zipfile.ZipInfo) else zipfile.ZipInfo(entry)
            if not isinstance(entry, zipfile.ZipInfo):
                info.filename = entry  # ZipInfo() itself cuts at a NUL and turns separators round
            info.compress_type = options.get("method", zipfile.ZIP_DEFLATED)
            archive.writestr(info, content)
    return buffer.getvalue()


def messages(raw):
    with pytest.raises(Refused) as refused:
        read_archive(raw)
    return [f"{problem.path} {problem.message}" for problem in refused.value.problems]


def special(name, kind):
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (kind | 0o777) << 16
    return entry


def test_an_archive_is_named_by_its_tree_however_it_was_packed():
    loose = zipped({"lib/x.py": b"1", "agent.py": AGENT}, method=zipfile.ZIP_STORED)
    tight = pack_tree([CodeFile("agent.py", AGENT), CodeFile("lib/x.py", b"1")])
    assert loose != tight
    assert read_archive(loose).hash == read_archive(tight).hash
    assert read_archive(loose).unpacked_bytes == len(AGENT) + 1
    assert {path: b"".join(parts) for path, parts in unpack_archive(loose)} == {
        "lib/x.py": b"1",
        "agent.py": AGENT,
    }


def test_folders_are_passed_over():
    assert read_archive(zipped({"lib/": b"", "lib/x.py": b"1"})).paths == ("lib/x.py",)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../agent.py", "points outside of the tree"),
        ("..", "points outside of the tree"),
        ("/etc/cron.d/x", "absolute"),
        ("a\\..\\..\\b.py", "backslash"),
        ("C:/x.py", "absolute"),
        ("a\0b.py", "control characters"),
    ],
)
def test_names_that_lead_elsewhere(name, message):
    assert message in "".join(messages(zipped({"agent.py": AGENT, name: b"x"})))


@pytest.mark.parametrize("kind", [0o120000, 0o020000, 0o060000, 0o010000, 0o140000])
def test_links_and_special_files(kind):
    raw = zipped({"agent.py": AGENT, special("link", kind): b"/etc/passwd"})
    assert messages(raw) == ["link is a symbolic link or a special file; include the file itself"]


def test_the_same_name_twice():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("agent.py", AGENT)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("agent.py", b"other")
    assert "is listed twice" in "".join(messages(buffer.getvalue()))


def test_every_problem_is_told_at_once():
    raw = zipped({"../a": b"", special("b", 0o120000): b"", "C.py": b"", "c.py": b""})
    assert len(messages(raw)) == 3


def test_what_an_archive_declares_is_believed_first(monkeypatch):
    monkeypatch.setattr(code_zip, "MAX_UNPACKED_BYTES", 1000)
    assert "unpacks to" in messages(zipped({"a.txt": b"0" * 1001}))[0]


def test_an_archive_that_grows_a_thousandfold(monkeypatch):
    monkeypatch.setattr(code_zip, "RATIO_MATTERS_BYTES", 1024 * 1024)
    bomb = zipped({"zeros.bin": b"\0" * (2 * 1024 * 1024)})
    assert "times its size" in messages(bomb)[0]
    # One inside another is only a file: nothing unpacks it, so nothing grows.
    assert read_archive(zipped({"agent.py": AGENT, "inner.zip": bomb})).unpacked_bytes < 10_000


def lying(raw, field_offset, value):
    """Change one number in the list of contents and in the file's own head."""
    central = raw.rfind(b"PK\1\2")
    changed = bytearray(raw)
    struct.pack_into("<L", changed, central + field_offset, value)
    struct.pack_into("<L", changed, field_offset - 2, value)
    return bytes(changed)


SIZE = 24  # of the unpacked file, in the list of contents


def test_a_file_that_is_longer_than_it_says():
    raw = lying(zipped({"a.txt": b"0" * 5_000_000}), SIZE, 10)
    assert "a.txt is damaged" in messages(raw)[0]


def test_a_file_that_is_shorter_than_it_says():
    raw = lying(zipped({"a.txt": b"0" * 100}), SIZE, 5_000_000)
    assert "a.txt is damaged" in messages(raw)[0]


def test_files_that_share_their_bytes():
    """One file is stored around the next, head and all: each is whole, and the bytes count twice."""
    inner = zipped({"b": b"x" * 5_000}, method=zipfile.ZIP_STORED)
    start, end = inner.find(b"PK\1\2"), inner.find(b"PK\5\6")
    outer = zipped({"a": inner[:start]}, method=zipfile.ZIP_STORED)
    first, last = outer.rfind(b"PK\1\2"), outer.rfind(b"PK\5\6")
    second = bytearray(inner[start:end])
    struct.pack_into("<L", second, 42, first - start)  # where b's own head lies: inside of a
    tail = bytearray(outer[last:])
    struct.pack_into("<HHL", tail, 8, 2, 2, last - first + len(second))
    raw = outer[:last] + bytes(second) + bytes(tail)
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        assert archive.testzip() is None, "a sound archive, to those who only look at each file"
    assert messages(raw) == [" is damaged: its files overlap"]


def test_a_password():
    raw = bytearray(zipped({"agent.py": AGENT}))
    raw[6] |= 1
    raw[raw.rfind(b"PK\1\2") + 8] |= 1
    assert "is encrypted" in messages(bytes(raw))[0]


def test_other_ways_to_pack():
    assert "use deflate" in messages(zipped({"agent.py": AGENT}, method=zipfile.ZIP_BZIP2))[0]


def test_too_many_files(monkeypatch):
    monkeypatch.setattr(code_zip, "MAX_FILES", 3)
    assert "4 files; at most 3" in messages(zipped(dict.fromkeys("abcd", b"")))[0]


def test_a_list_of_contents_that_would_fill_the_memory(monkeypatch):
    monkeypatch.setattr(code_zip, "MAX_DIRECTORY_BYTES", 100)
    monkeypatch.setattr(zipfile, "ZipFile", None)  # not even opened
    with pytest.raises(Refused, match="1 problem"):
        read_archive(_MANY)


_MANY = pack_tree([CodeFile(letter, b"") for letter in "abcdef"])


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"PK",
        b"no zip at all" * 100,
        b"PK\5\6" + b"\0" * 17,
        AGENT,
        b"PK\6\7" + b"\0" * 16 + b"PK\5\6" + b"\0" * 18,
    ],
)
def test_what_is_no_archive(raw):
    assert "is not a zip archive" in messages(raw)[0]


def test_an_empty_archive():
    assert messages(b"PK\5\6" + b"\0" * 18) == [" has no files"]


def test_an_archive_over_the_limit(monkeypatch):
    monkeypatch.setattr(code_zip, "MAX_ZIP_BYTES", 10)
    assert "is over" in messages(_MANY)[0]


def test_a_broken_checksum():
    raw = bytearray(zipped({"agent.py": AGENT}, method=zipfile.ZIP_STORED))
    raw[raw.find(b"return")] ^= 1
    assert "agent.py is damaged" in messages(bytes(raw))[0]


@given(st.binary(max_size=40), st.integers(0, len(_MANY) - 1), st.booleans())
def test_damage_of_any_kind_is_refused_or_harmless(noise, place, cut):
    raw = _MANY[:place] + noise if cut else _MANY[:place] + noise + _MANY[place + len(noise) :]
    with suppress(Refused):
        archive = read_archive(raw)
        assert archive.unpacked_bytes == sum(len(archive.read(path, 10**9) or b"") for path in archive.paths)


def test_zlib_that_is_no_zlib():
    good = zipped({"a": b"x" * 1000})
    body = good.find(zlib.compress(b"x" * 1000)[2:8])
    assert body > 0
    assert "a is damaged" in messages(good[:body] + b"\xff" * 4 + good[body + 4 :])[0]
