"""Starts pytest with the guard: its own modules are loaded before the workspace is anywhere on the path."""

import os
import sys

import pytest
import pytest_guard  # type: ignore[import-not-found]

if __name__ == "__main__":
    sys.path[0] = os.getcwd()  # as `python -m pytest` has it
    sys.exit(pytest.main(sys.argv[1:], plugins=[pytest_guard]))
