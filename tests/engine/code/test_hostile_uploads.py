"""Archives that mean harm, sent to a real server as strangers would: refused in exact words, none kept."""

import io
import stat
import zipfile

import httpx2
import pytest
from code_desk import code_agent, source_of

from pipelines.core.code import code_source, code_zip
from support.desk import refused
from support.server_process import Api, House

KILOBYTE, MEGABYTE = 1024, 1024 * 1024
RUN = source_of("return 'x'")


def archive_of(*entries: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in (("agent.py", RUN.encode()), *entries):
            archive.writestr(entry, content)
    return buffer.getvalue()


def bomb(megabytes: int) -> bytes:
    """Zeros that unpack to this much, written piece by piece."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("agent.py", RUN)
        for number in range(megabytes // 50):
            with archive.open(f"zeros_{number}.bin", "w") as file:
                for _ in range(50):
                    file.write(bytes(MEGABYTE))
    return buffer.getvalue()


def link(name: str, target: str) -> tuple[zipfile.ZipInfo, bytes]:
    entry = zipfile.ZipInfo(name)
    entry.create_system = 3  # Unix, whose modes are read
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry, target.encode()


HOSTILE = {
    "a bomb": (
        lambda: bomb(600),
        [{"path": "", "message": "unpacks to 600 MB; at most 500 MB are allowed"}],
    ),
    "a link": (
        lambda: archive_of(link("lib/prices.py", "/etc/passwd")),
        [
            {
                "path": "lib/prices.py",
                "message": "is a symbolic link or a special file; include the file itself",
            }
        ],
    ),
    "a way out": (
        lambda: archive_of(("..", b"x"), ("../../agent.py", b"x")),
        [
            {"path": "..", "message": "`..` points outside of the tree"},
            {"path": "../../agent.py", "message": "`../../agent.py` points outside of the tree"},
        ],
    ),
}


@pytest.fixture(scope="module")
def server(house_of_code: House) -> Api:
    """Also where code cannot be isolated: nothing of it is run here."""
    return house_of_code.open()


def put(server: Api, raw: bytes) -> httpx2.Response:
    """The reply to an archive as new code of an agent, which stays as it was."""
    agent = server.post("/api/agents", code_agent("return 'as before'"), 201)
    path = f"/api/agents/{agent['id']}"
    reply = server.client.put(f"{path}/code", content=raw, headers={"Content-Type": "application/zip"})
    assert server.get(path) == agent
    return reply


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused_and_nothing_of_it_is_kept(server: Api, name: str) -> None:
    make, details = HOSTILE[name]
    assert refused(put(server, make()), 422, "invalid_request")["details"] == details


def test_a_bomb_that_would_fit_is_refused_by_its_ratio(server: Api) -> None:
    raw = bomb(100)
    times = (100 * MEGABYTE + len(RUN)) // len(raw)
    assert times > 100
    details = refused(put(server, raw), 422, "invalid_request")["details"]
    message = f"unpacks to {times} times its size, which source code never does"
    assert details == [{"path": "", "message": message}]


def test_an_archive_over_its_limit_is_not_even_read(server: Api) -> None:
    error = refused(put(server, bytes(100 * MEGABYTE + 1)), 413, "body_too_large")
    assert error["message"] == "The body is over 100 MiB."


def test_the_limits_are_those_of_the_contract() -> None:
    assert code_source.MAX_FILE_BYTES == 200 * KILOBYTE  # also what may be pasted
    assert code_source.MAX_FILES == 50
    assert code_source.MAX_FILES_BYTES == MEGABYTE
    assert code_zip.MAX_ZIP_BYTES == 100 * MEGABYTE
    assert code_zip.MAX_UNPACKED_BYTES == 500 * MEGABYTE
