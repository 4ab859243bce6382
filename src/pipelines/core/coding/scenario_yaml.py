"""Writes a coding scenario as readable YAML: files and instructions as block text."""

import re
from typing import Any

import yaml

from pipelines.core.text.json_text import JsonObject

WIDTH = 100
_PLAIN = re.compile(r"[A-Za-z_/](?:[\w ,./()=+'-]*[\w./)])?", re.ASCII)
#: In a block these would be line ends, or are not allowed; the library quotes what else does not fit.
_ODD = re.compile("[\r\x85\u2028\u2029\ufeff\x00-\x08\x0b-\x1f\x7f-\x9f]")


class _Dumper(yaml.SafeDumper):
    """Lists stand in from their key, and the same value twice is written twice: aliases are not read."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """A block, plain, or quoted: what could be read as anything but this text is quoted."""
    is_block = "\n" in text and not _ODD.search(text)
    style = "|" if is_block else None if _PLAIN.fullmatch(text) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def scenario_as_yaml(body: JsonObject) -> str:
    return str(yaml.dump(body, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH))
