"""Write-only values: they open for their own row and key, and for nothing else."""

import base64
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.storage.database.secret_box import SecretBox, UnreadableSecret, load_or_make_key

KEY = bytes(range(32))


@given(text=st.text(), row=st.text())
def test_what_was_sealed_opens_for_its_row(text: str, row: str) -> None:
    box = SecretBox(KEY)
    sealed = box.seal(text, row=row)
    assert box.open(sealed, row=row) == text
    assert len(text) < 4 or text.encode() not in sealed


def test_a_value_moved_to_another_row_does_not_open() -> None:
    box = SecretBox(KEY)
    sealed = box.seal("Bearer s3cret", row="1|agent|1")
    with pytest.raises(UnreadableSecret):
        box.open(sealed, row="1|agent|2")


def test_another_key_does_not_open_it() -> None:
    sealed = SecretBox(KEY).seal("Bearer s3cret", row="1|agent|1")
    with pytest.raises(UnreadableSecret):
        SecretBox(KEY[::-1]).open(sealed, row="1|agent|1")


@pytest.mark.parametrize("position", range(0, 41, 4))
def test_a_changed_byte_does_not_open(position: int) -> None:
    box = SecretBox(KEY)
    sealed = bytearray(box.seal("Bearer s3cret", row="r"))
    sealed[position] ^= 1
    with pytest.raises(UnreadableSecret):
        box.open(bytes(sealed), row="r")


@pytest.mark.parametrize("sealed", [b"", b"\x01", b"\x01" + b"\0" * 12, b"\x01" + b"\0" * 20])
def test_what_was_never_sealed_does_not_open(sealed: bytes) -> None:
    with pytest.raises(UnreadableSecret):
        SecretBox(KEY).open(sealed, row="r")


def test_the_same_text_is_never_sealed_the_same_way_twice() -> None:
    box = SecretBox(KEY)
    assert len({box.seal("Bearer s3cret", row="r") for _ in range(100)}) == 100


def test_a_made_key_is_kept_where_only_this_user_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    before = os.umask(0)
    try:
        key = load_or_make_key(path, None)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_or_make_key(path, "") == key
    assert len(key) == 32


def test_the_operators_key_wins_over_the_file(tmp_path: Path) -> None:
    given_key = base64.b64encode(KEY).decode()
    assert load_or_make_key(tmp_path / "secret.key", given_key) == KEY
    assert not (tmp_path / "secret.key").exists()


@pytest.mark.parametrize("text", ["short", "not base64!", base64.b64encode(b"x" * 31).decode()])
def test_a_key_of_the_wrong_kind_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match="32 bytes in base64"):
        load_or_make_key(tmp_path / "secret.key", text)


def test_a_derived_key_is_the_same_each_time_and_another_for_each_purpose_and_key():
    box = SecretBox(b"a" * 32)
    assert box.derived_key("telemetry|1") == SecretBox(b"a" * 32).derived_key("telemetry|1")
    others = [box.derived_key("telemetry|2"), SecretBox(b"b" * 32).derived_key("telemetry|1"), b"a" * 32]
    assert box.derived_key("telemetry|1") not in others
