"""A coding agent without a model: it knows two mistakes by their looks.

It works in the folder that PIPELINES_WORKSPACE names; what it changes there is graded.
"""

import os
import re
from pathlib import Path

#: `def add(item, cart=[]):` has one list for all calls.
SHARED_DEFAULT = re.compile(r"^( *)def (\w+)\((.*?)(\w+)=(\[\]|\{\})(.*)\):$", re.MULTILINE)
#: `for place in range(len(items) - 1):` leaves the last out, unless the next one is looked at as well.
LAST_LEFT_OUT = re.compile(r"range\(len\((\w+)\) - 1\)")


def without_shared_defaults(text):
    found = SHARED_DEFAULT.search(text)
    if found is None:
        return text
    indent, name, before, argument, value, after = found.groups()
    head = f"{indent}def {name}({before}{argument}=None{after}):"
    made = f"{indent}    {argument} = {value} if {argument} is None else {argument}\n"
    body = text[found.end() + 1 :]
    docstring = re.match(r' *"""(?:.|\n)*?"""\n', body)
    place = docstring.end() if docstring else 0
    return text[: found.start()] + head + "\n" + body[:place] + made + body[place:]


def with_the_last(text):
    found = LAST_LEFT_OUT.search(text)
    if found is None or f"{found[1]}[place + 1]" in text:
        return text
    return LAST_LEFT_OUT.sub(r"range(len(\1))", text)


def run(task_input, *, proxy_url, run_token):
    workspace = Path(os.environ["PIPELINES_WORKSPACE"])
    named = re.findall(r"shop[./](\w+)", task_input["user_instruction"])
    changed = []
    for path in sorted(workspace.glob("shop/*.py")):
        text = path.read_text()
        mended = with_the_last(without_shared_defaults(text))
        if mended != text and path.stem in named:
            path.write_text(mended)
            changed.append(path.name)
    if changed:
        return {"final_response": f"I mended {', '.join(changed)}."}
    return {"final_response": "I know no mistake that looks like this, and changed nothing."}
