"""Runs inside the sandbox of a workspace: makes it, runs an agent or a command in it, tells what was changed.

One message, one answer; the host says what comes next. This process is of the same user as what it runs, but
cannot be looked into, and is the only one alive between two messages. Standard library only.
"""

from __future__ import annotations

import base64
import io
import json
import os
import stat
import subprocess
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pipelines.sandbox.inside import commands, driver, repository

    Message = dict[str, Any]
else:  # beside this file, and nowhere on the path of the user's code, which may have modules of these names
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import commands
    import driver
    import repository

    del sys.path[0]
    for _name in ("driver", "commands", "repository"):
        del sys.modules[_name]

driver.OURS |= {__file__}

WORKSPACE = "/job/workspace"
GIVEN = "/given"
TASK_FILE = "/job/task.json"
TREE, REPOSITORY = "tree.tar", "repository.tar"
FILLS = "fills"  # said to the process that fills a folder of the host
_ARCHIVED = {TREE: ["--exclude=./.git", "."], REPOSITORY: [".git"]}
_PIECE = 1 << 20
_CLOCK_LAG_S = 0.02  # the file system's clock goes by ticks
_TAR = "/bin/tar"
_UNPACKED_AHEAD = 64 << 20  # bytes of an archive


class Refusal(Exception):
    """What was asked cannot be done; the message is for the scenario's author or the agent's."""


def own_repository() -> Any:
    return repository.Repository(f"{WORKSPACE}/.git", WORKSPACE)


# Making a workspace


def make_seed(message: Message) -> Message:
    """From an archive or texts; what comes of a git server is a tar archive too."""
    if message["archive"]:
        _unpack_any(f"{GIVEN}/{message['archive']}")
    for path, text in message["files"].items():
        _write(WORKSPACE, path, text)
    return {}


def _unpack_any(path: str) -> None:
    with open(path, "rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    if is_gzip or not _is_unzipped(path):  # most are: what reads the others takes a while to load
        _untar(path, WORKSPACE)


def _is_unzipped(path: str) -> bool:
    """False where it is no zip archive."""
    import zipfile

    try:
        if not zipfile.is_zipfile(path):
            return False
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                _unzip(archive, entry)
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, RuntimeError) as error:
        raise Refusal(f"the archive cannot be unpacked: {error}") from None
    return True


def _unzip(archive: Any, entry: Any) -> None:
    """With the right to execute, which zipfile itself forgets."""
    extracted = archive.extract(entry, WORKSPACE)  # below the workspace, whatever the name says
    if not entry.is_dir() and (entry.external_attr >> 16) & stat.S_IXUSR:
        os.chmod(extracted, 0o755)


def make_baseline(message: Message) -> Message:
    """One commit of what is there now."""
    facts = own_repository().make()
    files, size = 0, 0
    for folder, _, names in os.walk(WORKSPACE):
        if folder.startswith(f"{WORKSPACE}/.git"):
            continue
        files += len(names)
        size += sum(os.lstat(os.path.join(folder, name)).st_size for name in names)
    if files > message["most_files"]:
        raise Refusal(f"the workspace has {files:,} files; at most {message['most_files']:,} are allowed")
    return {**facts, "files": files, "bytes": size}


def send_archives(host: Any, names: list[str]) -> None:
    """As frames, each archive behind the other with an empty frame at its end."""
    for name in names:
        what = _ARCHIVED[name]
        command = [_TAR, "--create", "--directory", WORKSPACE, "--format=posix", "--numeric-owner", *what]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as tar:
            assert tar.stdout is not None
            while piece := tar.stdout.read(_PIECE):
                host.send_frame(piece)
        if tar.returncode:
            os._exit(1)  # the host hears that nothing more comes
        host.send_frame(b"")


def unpack(message: Message) -> Message:
    if not os.path.isdir(f"{WORKSPACE}/.git"):
        for name in (TREE, REPOSITORY):  # the repository last: where it is, all is there
            _untar(f"{GIVEN}/{name}", WORKSPACE)
    return {}


def unpack_ahead() -> None:
    """While the sandbox waits for work, unless that would hold a lot of memory for nothing."""
    archive = f"{GIVEN}/{TREE}"
    if os.path.exists(archive) and os.path.getsize(archive) <= _UNPACKED_AHEAD:
        try:
            unpack({})
        except Refusal:  # then whoever asks for it hears so
            repository.remove(f"{WORKSPACE}/.git")


def fill(message: Message) -> Message:
    """The workspace unpacked into a folder of the host, for many to see as theirs: nothing may be in it that
    is more to one of them than the bytes of a file."""
    entries = 0
    for name in (TREE, REPOSITORY):
        entries += _entries(f"{GIVEN}/{name}", message["most_entries"])
    if entries > message["most_entries"]:
        raise Refusal(f"it has more than {message['most_entries']:,} files and folders")
    unpack({})
    for folder, folders, files in os.walk(WORKSPACE):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            if problem := _unlike_others(path):
                raise Refusal(f"{os.path.relpath(path, WORKSPACE)[:200]} {problem}")
    # With what the file system says of each file, git need not read them all to know that they are unchanged.
    own_repository().run("update-index", "-q", "--really-refresh")
    # git compares whole seconds: what a run changes must not be of the second in which this was unpacked.
    unpacked = int(time.time())
    while int(time.time() - _CLOCK_LAG_S) <= unpacked:
        time.sleep(0.01)
    return {}


def _entries(archive: str, most: int) -> int:
    """How many it has, counted to just past `most`: each becomes a file on the host's disk."""
    command = [_TAR, "--list", "--quoting-style=escape", "--file", archive]
    found = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as tar:
        assert tar.stdout is not None
        while found <= most and (piece := tar.stdout.read(1 << 16)):
            found += piece.count(b"\n")
        tar.kill()
    return found


def _unlike_others(path: str) -> str | None:
    """Why this file is not one that can be shared."""
    seen = os.lstat(path)
    if stat.S_ISLNK(seen.st_mode):
        return None
    if not stat.S_ISREG(seen.st_mode) and not stat.S_ISDIR(seen.st_mode):
        return "is neither a file nor a folder nor a link"
    if seen.st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX):
        return "has rights beyond reading, writing and running"
    if stat.S_ISREG(seen.st_mode) and seen.st_nlink > 1:
        return "is one file under several names"
    if stat.S_ISREG(seen.st_mode) and not seen.st_mode & stat.S_IRUSR:
        return "may not be read by its owner"
    if stat.S_ISDIR(seen.st_mode) and seen.st_mode & stat.S_IRWXU != stat.S_IRWXU:
        return "is a folder that its owner may not write in"
    # A label of the machine's own policy is on every file.
    if [name for name in os.listxattr(path, follow_symlinks=False) if name != "security.selinux"]:
        return "has attributes of its own"
    return None


def _untar(archive: str, folder: str) -> None:
    command = [_TAR, "--extract", "--file", archive, "--directory", folder, "--no-same-owner"]
    done = subprocess.run(command, capture_output=True, check=False, env={"PATH": "/usr/bin:/bin"})
    if done.returncode:
        raise Refusal(f"the archive cannot be unpacked: {done.stderr.decode('utf-8', 'replace')[-500:]}")


# An agent in it


def run_agent(message: Message) -> bytes | Message:
    """The agent's own frame, or how it ended without one."""
    with open(TASK_FILE, "w") as file:
        json.dump(message["task"], file)
    reading, writing = os.pipe()
    driver.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run_as_agent(message, writing)
    os.close(writing)
    try:
        until = time.monotonic() + message["timeout_s"]
        frame, is_late = driver.read_frame(reading, child, 2 * message["result_bytes"] + 128 * 1024, until)
    finally:
        os.close(reading)
    global _left_by_agent
    _left_by_agent = [] if is_late else _other_processes(child)
    os.kill(child, 9)
    _, status = os.waitpid(child, 0)
    commands.kill_all()
    if frame is not None:
        return frame
    code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    return {"kind": "timeout"} if is_late else {"kind": "ended", "status": code}


_left_by_agent: list[str] = []


def _other_processes(child: int) -> list[str]:
    """Processes beside the agent's own; threads of it are gone with it."""
    found = commands.others()
    try:
        with open(f"/proc/{child}/comm") as file:
            found.remove(file.read().strip())
    except (OSError, ValueError):
        pass
    return found[:20]


def _run_as_agent(job: Message, pipe: int) -> None:
    try:
        os.close(driver.CONTROL)
        driver.set_dumpable(1)
        driver.confine(job["limits"])
        try:
            driver.settle(job)
        except BaseException as error:  # noqa: BLE001 - start-up files of the packages they require
            found = {"kind": "exception", **driver.describe_error(error)}
        else:
            found = driver.answer(job)
        driver.flush()
        driver.write_frame(pipe, found)
        time.sleep(60)  # what is left of it is looked at while it lives; then it is killed
    finally:
        os._exit(0)


# What was changed


def collect(message: Message) -> Message:
    """The changes since the baseline, by a repository that nobody but us has touched."""
    inner = repository.forget_inner_repositories(WORKSPACE)
    history = repository.signs_of_history(f"{WORKSPACE}/.git")
    place = f"/job/.collect-{os.urandom(8).hex()}"
    os.mkdir(place)
    _untar(f"{GIVEN}/{REPOSITORY}", place)
    pristine = repository.Repository(f"{place}/.git", WORKSPACE)
    try:
        pristine.stage_all()
    except repository.GitFailed as error:
        raise Refusal(f"the changes cannot be collected: {error}") from None
    finally:
        notes = {"inner": inner[:20], "history": history, "left": _left_by_agent}
    return {**_describe_changes(pristine, message["most_bytes"]), **notes}


def _describe_changes(repo: Any, most: int) -> Message:
    process = repo.patch()
    assert process.stdout is not None
    patch = process.stdout.read(most + 1)
    is_cut = len(patch) > most
    if is_cut:
        process.kill()
    process.stdout.close()
    process.wait()
    changes, ignored = repo.changes(), repo.ignored()
    if len(changes) > most:
        raise Refusal("the changes cannot be collected: their list alone is over the limit")
    return {
        "raw": _encode_content(changes),
        "patch": _encode_content(patch[:most]),
        "ignored": _encode_content(ignored[: 1 << 20]),
        "truncated": is_cut,
    }


def _encode_content(data: bytes) -> str:
    return base64.b64encode(data).decode()


# Grading


def apply(message: Message) -> Message:
    """The change on a fresh workspace, told back as git sees it there."""
    repo = own_repository()
    try:
        repo.apply(base64.b64decode(message["patch"]))
    except repository.GitFailed as error:
        return {"problem": str(error)}
    changes = _describe_changes(repo, message["most_bytes"])
    return {**changes, "contents": {path: _content(path, message["most_bytes"]) for path in message["read"]}}


def _content(path: str, most: int) -> str | None:
    data = _regular(os.path.join(WORKSPACE, path), most)
    return data.decode("utf-8", "surrogateescape") if data is not None else None


def restore(message: Message) -> Message:
    """Files of the runner and of the tests as the baseline has them, then those of the scenario."""
    repo = own_repository()
    known = set(repo.run("ls-tree", "-r", "-z", "--name-only", "HEAD").split(b"\0"))
    settings = [os.fsencode(path) for path in message["restore"]]
    settings += _changed_settings(repo, message["settings"], known)
    for path in settings:
        repository.remove_below(WORKSPACE.encode(), path)
    back = [path for path in settings if path in known]
    if back:
        repo.unstage(back)
        repo.write_out(back)
    for path, text in message["files"].items():
        if path.startswith("/"):
            _write("/", path[1:], text)
        else:
            repository.remove_below(WORKSPACE.encode(), os.fsencode(path))
            _write(WORKSPACE, path, text)
    _remember_tests(message["files"])
    there = [path for path in message["files"] if os.fsencode(path) in known]
    return {"restored": [os.fsdecode(path) for path in settings], "known": there}


#: Files that only grading brings, by path: their text, and what the file system says of them.
_tests: dict[str, tuple[bytes, tuple[int, int] | None]] = {}


def _remember_tests(files: dict[str, str]) -> None:
    _tests.clear()
    _tests.update((path, (text.encode("utf-8"), _state(path))) for path, text in files.items())


def _state(path: str) -> tuple[int, int] | None:
    """Another one after every change, which nobody can set back."""
    try:
        seen = os.lstat(os.path.join(WORKSPACE, path))
    except OSError:
        return None
    return (seen.st_ino, seen.st_ctime_ns)


def _changed_tests() -> dict[str, list[str]]:
    touched = [path for path, (_, state) in _tests.items() if _state(path) != state]
    other = [p for p in touched if _regular(os.path.join(WORKSPACE, p), 1 << 26) != _tests[p][0]]
    return {"rewritten": other[:20], "touched": [path for path in touched if path not in other][:20]}


def _changed_settings(repo: Any, paths: list[str], known: set[bytes]) -> list[bytes]:
    """Of files that hold settings of the test runner among others, those whose settings of it changed."""
    found = []
    for path in paths:
        before = repo.run("show", f"HEAD:{path}") if os.fsencode(path) in known else b""
        after = _regular(os.path.join(WORKSPACE, path), 1 << 20) or b""
        if _runner_settings(path, before) != _runner_settings(path, after):
            found.append(os.fsencode(path))
    return found


def _runner_settings(path: str, data: bytes) -> Any:
    text = data.decode("utf-8", "replace")
    try:
        if path.endswith(".toml"):
            import tomllib

            tools = tomllib.loads(text).get("tool", {})
            return {name: tools.get(name) for name in ("pytest", "coverage")}
        import configparser

        parser = configparser.RawConfigParser(strict=False)
        parser.read_file(io.StringIO(text))
        return {name: dict(parser[name]) for name in parser.sections() if "pytest" in name}
    except Exception:  # noqa: BLE001 - what cannot be read is compared as it stands
        return data


def _write(top: str, path: str, text: str) -> None:
    """Below `top`, through no link: what stands in the way is removed."""
    folder = top
    for part in path.split("/")[:-1]:
        folder = os.path.join(folder, part)
        if os.path.islink(folder) or (os.path.lexists(folder) and not os.path.isdir(folder)):
            os.unlink(folder)
        os.makedirs(folder, exist_ok=True)
    with open(os.path.join(top, path), "w", encoding="utf-8", newline="") as file:
        file.write(text)
    os.chmod(os.path.join(top, path), 0o755 if text.startswith("#!") else 0o644)


def run_command(message: Message) -> Message:
    """Then the files that it was to leave, read when nothing of it is alive."""
    for path in message["read"]:  # where it may write to
        if path.startswith("/logs/"):
            os.makedirs(os.path.dirname(path), exist_ok=True)
    found = commands.run(message)
    files = {path: _regular(path, message["most_bytes"]) for path in message["read"]}
    coded = {path: _encode_content(data) if data is not None else None for path, data in files.items()}
    return {**found, **_changed_tests(), "files": coded}


def _regular(path: str, most: int) -> bytes | None:
    """A plain file, not through a link at its end; None where there is none, or it is too large."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        data = file.read(most + 1)
    return data if len(data) <= most else None


_HANDLERS: dict[str, Callable[[Message], Any]] = {
    "seed": make_seed,
    "baseline": make_baseline,
    "unpack": unpack,
    "fill": fill,
    "agent": run_agent,
    "collect": collect,
    "apply": apply,
    "restore": restore,
    "run": run_command,
}


def answer(message: Message) -> bytes | Message:
    try:
        found = _HANDLERS[message["kind"]](message)
    except Refusal as error:
        return {"kind": "exception", "exception": "Refusal", "message": str(error)}
    except Exception as error:  # noqa: BLE001 - ours, or a full disk: the host says so, and goes on
        return {"kind": "exception", **driver.describe_error(error)}
    if message["kind"] == "agent":
        return found  # type: ignore[no-any-return]
    return {"kind": "result", "json": json.dumps(found)}


def main() -> None:
    os.closerange(driver.CONTROL + 1, 256)
    host = driver.Host()
    with driver.open_door(int(sys.argv[1])) as door:
        greeting = {"port": door.getsockname()[1], "pid": os.getpid(), **driver.confinement()}
        host.send(greeting, [door.fileno()])
    driver.set_dumpable(0)
    if FILLS not in sys.argv:  # there, what is given is counted first
        unpack_ahead()
    while True:
        message = host.receive()
        if message["kind"] == "archives":
            send_archives(host, message["names"])
            continue
        found = answer(message)
        if isinstance(found, dict):
            host.send(found)
        else:
            host.send_frame(found)


if __name__ == "__main__":
    main()
