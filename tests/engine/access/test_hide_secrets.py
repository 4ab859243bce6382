"""What leaves a sandbox has no secret in it, however large it is; small things never leave the process."""

import pytest

from pipelines.core.code.redaction import Redaction
from pipelines.engine.access import hide_secrets
from pipelines.engine.access.hide_secrets import MIDDLE_BYTES, SMALL_BYTES, without_secrets
from pipelines.processes.pool import HelperProcesses
from pipelines.wire.errors import BodyTooLarge
from pipelines.wire.names import MAX_BODY_BYTES

pytestmark = pytest.mark.anyio
SECRET = "shop-secret-0123456789"
HIDDEN = Redaction({"SHOP": SECRET})
SIZES = {"small": 100, "middle": SMALL_BYTES + 1, "large": MIDDLE_BYTES + 1, "huge": MAX_BODY_BYTES + 1}


@pytest.fixture
async def helpers():
    made = HelperProcesses(processes=2)
    yield made
    await made.close()


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
async def test_a_secret_is_hidden_and_what_has_none_stays_byte_by_byte(helpers, size):
    before, after = b'{"text": "' + b"x" * size, b' end"}'
    hidden = await without_secrets(before + SECRET.encode() + after, HIDDEN, helpers=helpers, owner=1)
    assert hidden.count(b"[secret SHOP]") == 1
    assert SECRET.encode() not in hidden
    assert await without_secrets(before + after, HIDDEN, helpers=helpers, owner=1) == before + after


async def test_without_secrets_nothing_is_looked_at(helpers):
    assert (
        await without_secrets(b"\xff" * 1_000_000, Redaction({}), helpers=helpers, owner=1)
        == b"\xff" * 1_000_000
    )


async def test_what_takes_too_long_to_look_through_is_not_let_out(helpers, monkeypatch):
    monkeypatch.setattr(hide_secrets, "HIDING_S", 0.001)
    with pytest.raises(BodyTooLarge, match="cannot be searched for secrets"):
        await without_secrets(b"x" * 4_000_000 + SECRET.encode(), HIDDEN, helpers=helpers, owner=1)
