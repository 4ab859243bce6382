"""A text without what people vary and mean nothing by: letter case, spacing, the shape of quotes."""

import unicodedata

_MARKS = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "‐": "-", "‑": "-"})


def folded(text: str) -> str:
    """Equal for texts that differ only in case, spaces, line ends, width, kinds of quotes and hyphens."""
    plain = unicodedata.normalize("NFKC", text).translate(_MARKS)
    return " ".join(unicodedata.normalize("NFKC", plain.casefold()).split())
