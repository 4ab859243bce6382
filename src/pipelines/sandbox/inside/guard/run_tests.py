"""Starts pytest with the guard: its own modules are loaded before the workspace is anywhere on the path."""

import os
import sys

import pytest
import pytest_guard  # noqa: F401 - loaded before the workspace could have one of this name

if __name__ == "__main__":
    sys.path[0] = os.getcwd()  # as `python -m pytest` has it
    sys.exit(pytest.main(["-p", "pytest_guard", *sys.argv[1:]]))
