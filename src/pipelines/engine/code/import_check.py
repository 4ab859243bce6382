"""A look at a code agent without running it: a job that loads its file and only looks at its function.

The look is a small file of ours beside a copy of the tree, so that it happens in the same sandbox as a run.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from pipelines.sandbox.held_folders import new_folder
from pipelines.sandbox.job import CodeJob, Entrypoint
from pipelines.sandbox.recipe import readable_to_all

CHECK_S = 60.0  # imports of large packages on a cold machine take ten of them

_CHECK = '''"""Loads an agent's file as a run would, and looks at its function."""

import importlib
import importlib.util
import inspect
import os
import sys


def look(task_input, *, proxy_url, run_token):
    file, function = task_input["file"], task_input["function"]
    here = os.path.dirname(os.path.abspath(__file__))
    name = file.removesuffix(".py").replace("/", ".")
    if "." in name:
        importlib.import_module(name.rpartition(".")[0])
    spec = importlib.util.spec_from_file_location(name, os.path.join(here, file))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    found = getattr(module, function, None)
    if not callable(found):
        raise AttributeError(f"{file} has no function {function}")
    try:
        signature = inspect.signature(found)
    except ValueError:  # written in C, perhaps: it may still be right
        return "ok"
    signature.bind({}, proxy_url="", run_token="")
    return "ok"
'''


@contextmanager
def import_check(job: CodeJob) -> Iterator[CodeJob]:
    """The same job as a look. Blocking, but only links are made."""
    with new_folder(job.source_dir.parent) as folder:
        copy = folder / "agent"
        shutil.copytree(job.source_dir, copy, copy_function=os.link)
        check = f"odyssey_check_{secrets.token_hex(8)}.py"  # no file of theirs, to which it would be linked
        (copy / check).write_text(_CHECK)
        readable_to_all(folder)
        request = {"file": job.entrypoint.file, "function": job.entrypoint.function}
        yield replace(
            job,
            source_dir=copy,
            entrypoint=Entrypoint(check, "look"),
            task_input={**request},
            expects_more=False,
            limits=replace(job.limits, wall_s=min(CHECK_S, job.limits.wall_s)),
        )
