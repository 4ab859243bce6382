"""Code that means harm, run by a real server: each harm ends as a run that says how; the server goes on."""

import secrets
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from code_desk import code_agent, run_of

from support.server_process import REFUND_TASK, Api, House, Row, fresh_house_in

MARK = "mark-of-the-host-5d21"
DISK_BYTES = 64 * 1024 * 1024
FLOOD_BYTES = 50_000_000
KEPT_BYTES = 64 * 1024

#: One agent: which harm it does is in its task.
CODE = """
import errno, os, shutil, signal, socket, sys, time

def told(**seen):
    return {"final_response": "still here", "metadata": seen}

def error_of(attempt, *arguments):
    try:
        attempt(*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno, type(error).__name__)
    return "done"

def bomb():
    count = 0
    try:
        while True:
            if os.fork() == 0:
                while True: signal.pause()
            count += 1
    except BlockingIOError:
        return count

def forks_and_returns(task):
    return told(forks=bomb())

def forks_and_dies(task):
    bomb()
    os.kill(os.getpid(), signal.SIGKILL)

def forks_without_end(task):
    while True:
        try: os.fork()
        except OSError: pass

def fills_its_disk(task):
    def fill(folder):
        for number in range(400):
            with open(f"{folder}/{number}", "wb", buffering=0) as file:
                written[folder] = written.get(folder, 0) + file.write(bytes(1 << 20))
    written = {}
    return told(errors=[error_of(fill, folder) for folder in ("/tmp", "/dev/shm", "/job")], written=written)

def floods(task):
    print("the beginning")
    for _ in range(500):
        sys.stdout.write("x" * 100_000)
    print("\\nthe end")
    return told()

def deletes_its_files(task):
    folder = os.path.dirname(os.path.abspath(__file__))
    errors = {error_of(shutil.rmtree, folder), error_of(os.remove, __file__), error_of(open, __file__, "w")}
    return told(errors=sorted(errors), left=os.listdir(folder))

def looks_around(task):
    def read(path):
        try:
            if path.endswith(("environ", "cmdline")):
                return open(path, errors="replace").read()
            return os.readlink(path)
        except OSError as error:
            return errno.errorcode[error.errno]
    processes = [name for name in os.listdir("/proc") if name.isdigit()]
    parts = ("environ", "cmdline", "exe", "cwd", "root")
    seen = {f"{name}/{part}": read(f"/proc/{name}/{part}") for name in processes for part in parts}
    return told(processes=processes, seen=seen, stopped=[error_of(os.stat, path) for path in task["paths"]])

def calls_elsewhere(task):
    def tcp(host, port): socket.create_connection((host, port), 3)
    def raw(): socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)
    def unix(name): socket.socket(socket.AF_UNIX).connect(name)
    return told(
        loopback=error_of(tcp, "127.0.0.1", task["port"]),
        network=[error_of(tcp, host, 80) for host in ("192.0.2.1", "169.254.169.254", "10.0.0.1")],
        name=error_of(tcp, "example.com", 80),
        unix=error_of(unix, chr(0) + task["unix"]),
        raw=error_of(raw),
    )

def kills_everyone(task):
    for target in (1, os.getppid(), -1):
        for number in (signal.SIGTERM, signal.SIGKILL):
            try: os.kill(target, number)
            except ProcessLookupError: pass
    return told(host=error_of(os.kill, task["pid"], signal.SIGKILL))

def returns_a_circle(task):
    circle = {}
    circle["final_response"] = [circle]
    return circle

def returns_too_much(task):
    return "x" * (100 << 20)

def exits(task):
    sys.exit(3)

def never_ends(task):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True: time.sleep(1)

def run(task_input, *, proxy_url, run_token):
    task = task_input["input"]
    return globals()[task["do"]](task)
"""


End = tuple[str, str | None, str | None]  # status, error class, detail
COMPLETED: End = ("completed", None, None)
ENDS: dict[str, End] = {
    "forks_and_returns": COMPLETED,
    "forks_and_dies": ("failed", "agent_exception", "the process was ended by SIGKILL"),
    "fills_its_disk": COMPLETED,
    "floods": COMPLETED,
    "deletes_its_files": COMPLETED,
    "looks_around": COMPLETED,
    "calls_elsewhere": COMPLETED,
    "kills_everyone": COMPLETED,
    "returns_a_circle": (
        "failed",
        "agent_bad_response",
        "what the function returned cannot be written as JSON: Circular reference detected",
    ),
    "returns_too_much": (
        "failed",
        "agent_bad_response",
        "what the function returned (100 MiB) is over the limit of 8388608 bytes",
    ),
    "exits": ("failed", "agent_exception", "the code called sys.exit(3)"),
}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with fresh_house_in(tmp_path_factory.mktemp("hostile") / "house", {"MARK": MARK}) as house:
        yield house


@pytest.fixture(scope="module")
def api(house: House) -> Api:
    opened = house.open()
    found = opened.get("/api/code-mode")
    if not found["available"]:
        pytest.skip(found["reason"])
    return opened


def agent(api: Api, **changes: Any) -> int:
    body = code_agent("", code={"source": "paste", "text": CODE}, max_concurrency=4, **changes)
    return int(api.post("/api/agents", body, 201)["id"])


def ran(api: Api, agent_id: int, *tasks: Row) -> dict[str, Row]:
    """The runs of one batch over these tasks, by what each was told to do."""
    rows = [REFUND_TASK | {"task_input": task} for task in tasks]
    dataset = api.dataset(*rows)
    batch_id = api.batch_of(agent_id, dataset["id"])
    assert api.ended(batch_id)["status"] == "completed"
    named = {task_id: task["do"] for task_id, task in zip(dataset["task_ids"], tasks, strict=True)}
    return {named[run["task_id"]]: api.get(f"/api/runs/{run['id']}") for run in api.runs(batch_id)}


def ends(runs: dict[str, Row]) -> dict[str, End]:
    return {
        name: (run["status"], run["error_class"], run["error_json"] and run["error_json"]["detail"])
        for name, run in runs.items()
    }


def goes_on(house: House, api: Api) -> None:
    assert house.node is not None
    assert house.node.process.poll() is None
    assert api.client.get("/health").is_success
    body = """
    call(proxy_url, run_token, "refund_order", order_id="4521")
    return "I have refunded order 4521."
    """
    good = api.post("/api/agents", code_agent(body), 201)
    assert run_of(api, good["id"])["verdict"] == "PASS"


@pytest.fixture(scope="module")
def harm(api: Api, house: House) -> dict[str, Row]:
    """One batch: a run for each harm that comes to an end. Nobody is called from inside while it runs."""
    assert house.node is not None
    pid = house.node.process.pid
    paths = [str(house.directory), str(Path(__file__)), f"/proc/{pid}"]
    name = f"odyssey-{secrets.token_hex(4)}"
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind("\0" + name)
        unix.listen()
        more = {
            "looks_around": {"paths": paths},
            "calls_elsewhere": {"port": tcp.getsockname()[1], "unix": name},
            "kills_everyone": {"pid": pid},
        }
        found = ran(api, agent(api), *({"do": kind} | more.get(kind, {}) for kind in ENDS))
        for listening in (tcp, unix):
            listening.setblocking(False)
            with pytest.raises(BlockingIOError):
                listening.accept()
    return found


def test_each_harm_ends_in_its_own_way_and_the_server_goes_on(
    api: Api, house: House, harm: dict[str, Row]
) -> None:
    assert ends(harm) == ENDS
    goes_on(house, api)


def test_a_fork_bomb_is_stopped_at_its_limit(harm: dict[str, Row]) -> None:
    assert 20 <= harm["forks_and_returns"]["metadata"]["forks"] < 64


def test_a_disk_that_is_filled_is_its_own(harm: dict[str, Row]) -> None:
    told = harm["fills_its_disk"]["metadata"]
    assert told["errors"] == ["ENOSPC"] * 3
    assert set(told["written"]) == {"/tmp", "/dev/shm", "/job"}
    assert all(written <= DISK_BYTES for written in told["written"].values())


def test_of_a_flood_the_two_ends_are_kept(api: Api, harm: dict[str, Row]) -> None:
    stdout = api.get(f"/api/runs/{harm['floods']['id']}/output")["stdout"]
    assert stdout.startswith("the beginning\nxxx")
    assert stdout.endswith("xxx\nthe end\n")
    flood = len("the beginning\n") + FLOOD_BYTES + len("\nthe end\n")
    assert f"[... {flood - KEPT_BYTES} bytes dropped ...]" in stdout
    assert len(stdout) < KEPT_BYTES + 100


def test_its_files_are_not_its_to_delete(api: Api, harm: dict[str, Row]) -> None:
    assert harm["deletes_its_files"]["metadata"] == {"errors": ["EROFS"], "left": ["agent.py"]}


def test_it_sees_itself_and_nobody_else(api: Api, house: House, harm: dict[str, Row]) -> None:
    told = harm["looks_around"]["metadata"]
    assert set(told["processes"]) <= {"1", "2", "3"}  # bubblewrap and itself
    assert told["stopped"] == ["ENOENT"] * 3
    everything = " ".join(told["seen"].values())
    assert "/sbx/driver.py" in everything, "it has not looked"
    for word in (MARK, api.key, str(house.directory), "pipelines\0up", "pytest"):
        assert word not in everything


def test_it_reaches_nothing(harm: dict[str, Row]) -> None:
    assert harm["calls_elsewhere"]["metadata"] == {
        "loopback": "ECONNREFUSED",
        "network": ["ENETUNREACH"] * 3,
        "name": "gaierror",
        "unix": "ECONNREFUSED",
        "raw": "EPERM",
    }


def test_its_signals_reach_nobody(harm: dict[str, Row]) -> None:
    assert harm["kills_everyone"]["metadata"] == {"host": "ESRCH"}


def test_what_never_ends_is_ended(api: Api, house: House) -> None:
    tasks = [{"do": "never_ends"}, {"do": "forks_without_end"}]
    late = "the function did not return within 2 s; all its processes were ended"
    assert ends(ran(api, agent(api, run_timeout_s=2), *tasks)) == {
        "never_ends": ("failed", "agent_timeout", late),
        "forks_without_end": ("failed", "agent_timeout", late),
    }
    goes_on(house, api)
