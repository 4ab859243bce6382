"""Functions that hang, fork, flood, fill memory, look around or leave things behind: each ends alone."""

import asyncio
import os
from concurrent.futures import Future
from pathlib import Path

import pytest
from functions_desk import Desk, local_server

from pipelines.core.tools.live_tools import LiveReply
from pipelines.engine.code.code_endpoint import CodeEndpoint
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.sandbox.memory import tree

SECRET = "hostile-key-51ab77"

SOURCE = """
import os, signal, socket, subprocess, sys, threading, time, urllib.request

seen = []

def plain() -> str:
    return "ok"

def hang() -> None:
    while True:
        time.sleep(1)

def spin() -> None:
    while True:
        pass

def fork_bomb() -> int:
    made = 0
    try:
        while True:
            if os.fork() == 0:
                time.sleep(1000)
            made += 1
    except OSError:
        return made

def daemon() -> str:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(0)
    os.wait()
    return "left"

def processes() -> int:
    return sum(name.isdigit() for name in os.listdir("/proc"))

def fill_memory() -> None:
    kept = []
    for _ in range(20):
        if os.fork() == 0:
            kept.append(b"x" * 60_000_000)
            time.sleep(1000)
    time.sleep(1000)

def flood(size: int) -> str:
    for _ in range(size // 1000):
        print("x" * 999)
    return "flooded"

def litter(folder: str) -> list:
    before = os.listdir(folder)
    with open(os.path.join(folder, "left"), "w") as file:
        file.write("behind")
    return before

def kill_all() -> None:
    os.kill(-1, signal.SIGKILL)

def kill_parent() -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1000)

def stop_parent() -> None:
    os.kill(os.getppid(), signal.SIGSTOP)
    return None

def write_parent() -> str:
    try:
        open(f"/proc/{os.getppid()}/mem", "r+b")
    except OSError as error:
        return type(error).__name__
    return "opened"

def leave(status: int) -> None:
    os._exit(status)

def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)

def handles() -> list:
    return sorted(os.listdir("/proc/self/fd"))

def remember(value: str) -> list:
    seen.append(value)
    os.environ["LEFT"] = value
    return [*seen, os.environ.get("BEFORE")]

def get(url: str) -> str:
    return urllib.request.urlopen(url, timeout=10).read().decode()

def tunnel(host: str, port: int) -> str:
    import http.client
    port_inside = int(os.environ["HTTPS_PROXY"].rpartition(":")[2])
    proxy = http.client.HTTPConnection("127.0.0.1", port_inside, timeout=10)
    proxy.set_tunnel(host, port)
    proxy.request("GET", "/tunnelled")
    return proxy.getresponse().read().decode()

def connect(host: str, port: int) -> str:
    try:
        socket.create_connection((host, port), timeout=3).close()
    except OSError as error:
        return type(error).__name__
    return "connected"

def udp(host: str) -> str:
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.sendto(b"x", (host, 53))
    except OSError as error:
        return type(error).__name__
    return "sent"

def resolve(host: str) -> str:
    try:
        return socket.gethostbyname(host)
    except OSError as error:
        return type(error).__name__

def many(count: int) -> list:
    port = int(os.environ["HTTPS_PROXY"].rpartition(":")[2])
    kept = []
    answers = []
    for _ in range(count):
        one = socket.create_connection(("127.0.0.1", port), timeout=3)
        one.sendall(b"CONNECT hang.example:443 HTTP/1.1\\r\\n\\r\\n")
        kept.append(one)
    return len(kept)

def arguments() -> str:
    return open("/proc/1/cmdline").read() + open("/proc/self/cmdline").read() + str(sys.argv)
"""


@pytest.fixture(scope="module")
def hostile(desk_of_all: Desk) -> CodeEndpoint:
    return desk_of_all.endpoint(SOURCE, secrets={"KEY": SECRET}, longest_s=2.0, is_kept=True)


ENDINGS = {
    "hang": ({}, "hang did not return in time: the function did not return within 2 s"),
    "spin": ({}, "spin did not return in time: "),
    "leave": ({"status": 0}, "leave ended without a result: the process ended with status 0 before"),
    "crash": ({}, "crash ended without a result: the process was ended by SIGSEGV"),
    "kill_parent": ({}, "kill_parent ended without a result: the process was ended by SIGKILL"),
    "kill_all": ({}, "kill_all ended without a result: "),
    "stop_parent": ({}, "stop_parent did not return in time: "),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_a_function_that_ends_badly_ends_alone(desk: Desk, hostile: CodeEndpoint, name: str) -> None:
    arguments, said = ENDINGS[name]
    assert str(desk.failure(hostile, name, **arguments)).startswith(said)
    assert desk.response(hostile, "plain") == "ok"


def test_processes_that_fill_the_memory_together_are_ended(desk: Desk) -> None:
    endpoint = desk.endpoint(SOURCE, longest_s=60.0)
    said = "fill_memory ended without a result: the code needed more than its 512 MiB of memory"
    assert str(desk.failure(endpoint, "fill_memory")) == said
    assert desk.response(endpoint, "plain") == "ok"


def test_forks_are_bounded_and_gone_afterwards(desk: Desk, hostile: CodeEndpoint) -> None:
    assert 0 < desk.response(hostile, "fork_bomb") < 70
    assert desk.response(hostile, "daemon") == "left"
    assert desk.response(hostile, "processes") == 3, "the first, the one that imported, and the call"


def test_a_flood_of_output_is_kept_in_part(desk: Desk, hostile: CodeEndpoint) -> None:
    reply = desk.call(hostile, "flood", size=1_000_000)
    assert reply.response == "flooded"
    (note,) = reply.notes
    assert len(note) < 9_000
    assert "bytes dropped" in note


@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm", "/job", "/job/workspace"])
def test_files_of_one_call_are_not_seen_by_the_next(desk: Desk, hostile: CodeEndpoint, folder: str) -> None:
    seen = [desk.response(hostile, "litter", folder=folder) for _ in range(2)]
    assert seen[0] == seen[1]
    assert "left" not in seen[0]


def test_globals_and_variables_of_one_call_are_not_seen_by_the_next(
    desk: Desk, hostile: CodeEndpoint
) -> None:
    assert [desk.response(hostile, "remember", value=value) for value in "ab"] == [["a", None], ["b", None]]


def test_a_call_holds_no_handle_of_ours_and_cannot_write_into_what_forks_it(
    desk: Desk, hostile: CodeEndpoint
) -> None:
    assert len(desk.response(hostile, "handles")) <= 5, "three streams, its answer, and the listing itself"
    assert desk.response(hostile, "write_parent") == "PermissionError"


def test_no_secret_is_in_an_argument_list_inside_or_outside(desk: Desk, hostile: CodeEndpoint) -> None:
    assert SECRET not in desk.response(hostile, "arguments")
    for process in Path("/proc").glob("[0-9]*"):
        try:
            told = (process / "cmdline").read_bytes()
        except OSError:
            continue
        assert SECRET.encode() not in told


def test_endpoints_never_share_a_sandbox_whatever_is_equal(desk: Desk) -> None:
    source = "import os\ndef show() -> str: return str(os.environ.get('KEY', ''))[:4]"
    keys = {1: "aaaa-key-of-one", 2: "bbbb-key-of-two"}
    both = {org: desk.endpoint(source, secrets={"KEY": key}, org_id=org) for org, key in keys.items()}
    for _ in range(3):
        assert [desk.response(both[org], "show") for org in (1, 2)] == ["aaaa", "bbbb"]


def test_a_cancelled_call_is_killed(desk: Desk) -> None:
    endpoint = desk.endpoint("import time\ndef plain(): return 1\ndef hang(): time.sleep(1000)")
    tool = desk.tool(endpoint, "hang")
    before = sandboxed(desk)
    call: Future[LiveReply] = desk.begin(endpoint.call(tool, {}))
    desk.do(until_busy(desk))
    call.cancel()
    assert desk.response(endpoint, "plain") == 1
    desk.do(endpoint.close())
    desk.do(all_closed(desk))
    assert len(sandboxed(desk)) <= len(before)


def sandboxed(desk: Desk) -> list[int]:
    opened = desk.do(desk.mode.opened())
    process = opened.pool._launcher._process
    assert process is not None
    return [pid for pid in tree(process.pid) if pid != process.pid]


async def until_busy(desk: Desk) -> None:
    """A slot is held: the call is at its sandbox."""
    opened = await desk.mode.opened()
    while not opened.functions.busy:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.01)


async def all_closed(desk: Desk) -> None:
    opened = await desk.mode.opened()
    while opened.functions._tasks:
        await asyncio.gather(*opened.functions._tasks, return_exceptions=True)


@pytest.mark.parametrize("count", [6])
def test_calls_at_the_same_time_each_have_their_own_sandbox(desk: Desk, count: int) -> None:
    endpoint = desk.endpoint("import time\ndef nap(n: int) -> int:\n    time.sleep(0.2)\n    return n")
    tool = desk.tool(endpoint, "nap")
    calls = [desk.begin(endpoint.call(tool, {"n": n})) for n in range(count)]
    assert [call.result(60).response for call in calls] == list(range(count))


# --- the network


def test_an_allowed_host_is_reached_plainly_and_through_a_tunnel(desk: Desk) -> None:
    with local_server() as port:
        endpoint = desk.endpoint(SOURCE, allow_hosts=[f"api.example.com:{port}"])
        assert (
            desk.response(endpoint, "get", url=f"http://api.example.com:{port}/a")
            == f"api.example.com:{port} /a"
        )
        told = desk.response(endpoint, "tunnel", host="api.example.com", port=port)
        assert told == f"api.example.com:{port} /tunnelled"


def test_another_host_is_refused_and_noted(desk: Desk) -> None:
    with local_server() as port:
        endpoint = desk.endpoint(SOURCE, allow_hosts=["api.example.com"])
        url = f"http://other.example.com:{port}/"
        failed = desk.failure(endpoint, "get", url=url)
    assert (
        str(failed) == f"get raised HTTPError: HTTP Error 403: other.example.com:{port} is not in allow_hosts"
    )
    assert failed.notes[-1] == f"refused: other.example.com:{port} is not in allow_hosts"


def test_an_allowed_name_that_leads_inside_is_refused_by_the_servers_policy(desk: Desk) -> None:
    endpoint = desk.endpoint(SOURCE, allow_hosts=["api.example.com"], policy=AddressPolicy())
    failed = desk.failure(endpoint, "get", url="https://api.example.com/")
    assert "403 api.example.com is a loopback address, which this server does not call" in str(failed)


@pytest.mark.parametrize("host", ["127.0.0.1", "169.254.169.254", "10.0.0.1", "1.1.1.1", "::1"])
def test_without_the_proxy_nothing_is_reached(desk: Desk, hostile: CodeEndpoint, host: str) -> None:
    with local_server() as port:
        assert desk.response(hostile, "connect", host=host, port=port) != "connected"


def test_udp_out_and_names_are_dead(desk: Desk, hostile: CodeEndpoint) -> None:
    assert desk.response(hostile, "udp", host="8.8.8.8") == "OSError"
    assert desk.response(hostile, "resolve", host="example.com") == "gaierror"


def test_many_tunnels_wait_inside_and_are_gone_with_their_call(desk: Desk, hostile: CodeEndpoint) -> None:
    before = len(os.listdir("/proc/self/fd"))
    assert desk.response(hostile, "many", count=60) == 60
    assert desk.response(hostile, "plain") == "ok"
    assert len(os.listdir("/proc/self/fd")) <= before + 20
