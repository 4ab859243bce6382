"""Actor ids: 1 to 8 labels of `[A-Za-z0-9_.-]{1,64}`, joined by `/`."""

import pytest

from pipelines.wire.actor import is_actor_id

CASES = {
    "one label": ("supervisor", True),
    "a path": ("supervisor/refunds", True),
    "every allowed character": ("aZ09_.-", True),
    "64 characters": ("a" * 64, True),
    "65 characters": ("a" * 65, False),
    "eight labels": ("/".join("a" * 8), True),
    "nine labels": ("/".join("a" * 9), False),
    "nothing": ("", False),
    "an empty label": ("a//b", False),
    "a slash in front": ("/a", False),
    "a slash behind": ("a/", False),
    "a space": ("a b", False),
    "a newline behind": ("a\n", False),
    "not ASCII": ("é", False),
}


@pytest.mark.parametrize(("text", "fits"), CASES.values(), ids=CASES)
def test_actor_ids(text, fits):
    assert is_actor_id(text) == fits
