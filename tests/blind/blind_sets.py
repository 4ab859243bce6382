"""The sets of blind cases: the first, and later ones by other hands, known by a flag (`--fifteenth`)."""

from pathlib import Path

HERE = Path(__file__).parent
LATER = (
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
)


def folders(kind: str) -> tuple[Path, ...]:
    """Of tools, sentences or transcripts, in the order in which they were written."""
    return (HERE / kind, *(HERE / f"{kind}_{name}" for name in LATER))


def chosen(kind: str, arguments: list[str]) -> Path:
    flags = [f"--{name}" in arguments for name in ("first", *LATER)]
    return folders(kind)[flags.index(True) if any(flags) else 0]
