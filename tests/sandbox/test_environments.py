"""Requirements become a folder that sandboxes read: from wheels, once, and nothing of them runs outside."""

import asyncio
import base64
import hashlib
import io
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from boxes import Boxes

from pipelines.core.text.problems import Refused
from pipelines.sandbox.environments import CannotPrepare, Environments
from pipelines.sandbox.requirements import parse_requirements


def wheel(folder: Path, name: str, version: str, files: dict[str, str], needs: str = "") -> None:
    (folder / f"{name}-{version}-py3-none-any.whl").write_bytes(wheel_bytes(name, version, files, needs))


def wheel_bytes(name: str, version: str, files: dict[str, str], needs: str = "") -> bytes:
    info = f"{name}-{version}.dist-info"
    files = files | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + (f"Requires-Dist: {needs}\n" if needs else ""),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{path},{digest(text)},{len(text.encode())}" for path, text in files.items()]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/RECORD", "\n".join([*rows, f"{info}/RECORD,,", ""]))
    return buffer.getvalue()


def source_archive(folder: Path, name: str, version: str, mark: Path) -> None:
    """An sdist that can be built offline, by a backend of its own. The backend leaves a mark when it runs."""
    top = f"{name}-{version}"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files = {
        "PKG-INFO": metadata,
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        f'[project]\nname = "{name}"\nversion = "{version}"\n',
        "backend.py": f"wheel_bytes = {wheel_bytes(name, version, {})!r}\n"
        f"open({str(mark)!r}, 'w').close()\n"
        "def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):\n"
        f"    name = '{name}-{version}-py3-none-any.whl'\n"
        "    with open(f'{wheel_directory}/{name}', 'wb') as file: file.write(wheel_bytes)\n"
        "    return name\n",
    }
    with tarfile.open(folder / f"{top}.tar.gz", "w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{top}/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))


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
    monkeypatch.delenv("UV_NO_INDEX")
    monkeypatch.delenv("UV_OFFLINE")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_INDEX_URL", "http://someone:hunter2@127.0.0.1:1/simple")
    with pytest.raises(CannotPrepare) as failed:
        await environments.prepare("greeting")
    assert "hunter2" not in str(failed.value)
    assert "127.0.0.1" not in str(failed.value)


@pytest.mark.anyio
async def test_what_needs_a_build_is_refused_and_nothing_of_it_runs(
    environments: Environments, wheels: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "built"
    source_archive(wheels, "needs_a_build", "1.0", mark)
    wheel(wheels, "leans_on_it", "1.0", {"leans_on_it.py": ""}, needs="needs_a_build")
    for asked in ("needs-a-build==1.0", "needs-a-build", "leans-on-it"):
        with pytest.raises(CannotPrepare) as failed:
            await environments.prepare(asked)
        assert "needs-a-build==1.0 has no usable wheels" in str(failed.value)
        assert "building from source is disabled" in str(failed.value)
    assert not mark.exists(), "a package was built outside of a sandbox"


def test_a_text_that_no_requirements_need_is_refused_unread() -> None:
    with pytest.raises(Refused) as refused:
        parse_requirements("ab\n" * 50_000)
    assert [problem.message for problem in refused.value.problems] == ["is over 100,000 characters"]


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
