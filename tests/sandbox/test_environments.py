"""Requirements become a folder that sandboxes read: from wheels, once, and nothing of them runs outside."""

import asyncio
import base64
import hashlib
import sys
import zipfile
from pathlib import Path

import pytest
from boxes import Boxes

from pipelines.core.problems import Refused
from pipelines.sandbox.environments import CannotPrepare, Environments
from pipelines.sandbox.requirements import parse_requirements


def wheel(folder: Path, name: str, version: str, files: dict[str, str]) -> None:
    info = f"{name}-{version}.dist-info"
    files = files | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{path},{digest(text)},{len(text.encode())}" for path, text in files.items()]
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/RECORD", "\n".join([*rows, f"{info}/RECORD,,", ""]))


def digest(text: str) -> str:
    value = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
    return f"sha256={value.decode()}"


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index of our own: a folder of wheels, and no network."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def environments(tmp_path: Path) -> Environments:
    return Environments(tmp_path / "environments", python=Path(sys._base_executable).resolve())  # type: ignore[attr-defined]


@pytest.mark.anyio
async def test_nothing_asked_needs_nothing(environments: Environments) -> None:
    assert await environments.prepare("") is None
    assert await environments.prepare("# only words\n\n") is None


def test_a_package_is_installed_once_and_runs_only_inside(boxes: Boxes, wheels: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    outside = f"os.path.isdir({str(tmp_path)!r}) and open({str(mark)!r}, 'w')"
    hook = f"import os; os.environ['HOOKED'] = '1'; {outside}\n"
    wheel(wheels, "greeting", "1.2", {"greeting.py": "word = 'hello'\n", "greeting_hook.pth": hook})
    environments = Environments(tmp_path / "environments", python=boxes.pool.python.executable)
    first = asyncio.run(environments.prepare("greeting>=1 # polite"))
    assert first is not None
    assert asyncio.run(environments.prepare("greeting>=1")) == first
    assert list(first.rglob("greeting*.pyc")), "a read-only folder must hold its bytecode"
    code = """
    import os, subprocess, sys, greeting
    def run(task_input, **_):
        below = [sys.executable, "-c", "import greeting; print(greeting.word)"]
        return {"word": greeting.word, "hooked": os.environ.get("HOOKED"),
                "below": subprocess.check_output(below, text=True), "file": greeting.__file__}
    """
    assert boxes.value(code, environment=first) == {
        "word": "hello",
        "hooked": "1",
        "below": "hello\n",
        "file": f"/env/lib/python{boxes.pool.python.version}/site-packages/greeting.py",
    }
    assert not mark.exists(), "a start-up file of a package ran outside of a sandbox"


@pytest.mark.anyio
async def test_the_same_text_asked_for_at_once_is_made_once(
    environments: Environments, wheels: Path, tmp_path: Path
) -> None:
    wheel(wheels, "one", "1.0", {"one.py": ""})
    found = await asyncio.gather(*(environments.prepare("one") for _ in range(4)))
    assert len(set(found)) == 1
    names = [path.name for path in (tmp_path / "environments").iterdir()]
    assert not any(name.startswith(".making") for name in names)
    # Another way to ask for the same: the same folder, found by what it resolves to.
    assert await environments.prepare("one==1.0") == found[0]


@pytest.mark.anyio
async def test_what_cannot_be_had_is_told_in_uvs_words_without_addresses(
    environments: Environments, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CannotPrepare, match="nowhere-to-be-found"):
        await environments.prepare("nowhere-to-be-found==1")
    (wheels / "needs_a_build-1.0.tar.gz").write_bytes(b"")
    with pytest.raises(CannotPrepare, match="needs-a-build"):
        await environments.prepare("needs-a-build==1.0")
    monkeypatch.delenv("UV_NO_INDEX")
    monkeypatch.delenv("UV_OFFLINE")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_INDEX_URL", "http://someone:hunter2@127.0.0.1:1/simple")
    with pytest.raises(CannotPrepare) as failed:
        await environments.prepare("greeting")
    assert "hunter2" not in str(failed.value)
    assert "127.0.0.1" not in str(failed.value)


def test_lines_that_are_no_plain_requirements_are_refused_all_at_once() -> None:
    refused = [
        "-r other.txt", "--index-url=https://u:hunter2@host/simple", "-e .", "--hash=sha256:0", "./a.whl",
        "../up", "/etc/passwd", "foo.tar.gz", "foo @ git+https://host/x", "git+ssh://host/x", "foo@file:///x",
        "https://user:hunter2@host/a.whl", "foo bar", "foo; import os `x`", "${HOME}", "foo\\", "é",
    ]  # fmt: skip
    plain = ["httpx", "httpx>=0.28,<1 ; python_version < '3.13'", "a.b-c[d,e] ~= 1.0", "x==1.*", "y (>=2)"]
    with pytest.raises(Refused) as found:
        parse_requirements("\n".join([*refused, *plain]))
    assert [problem.path for problem in found.value.problems] == [
        f"requirements, line {number}" for number in range(1, len(refused) + 1)
    ]
    assert not any("hunter2" in problem.message for problem in found.value.problems)
    assert parse_requirements("\n".join(["# words", *plain, *plain])) == sorted(plain)
