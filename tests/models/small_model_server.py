"""llama.cpp's own server with a model of `make test-models`, on loopback, until its input ends.

    python tests/models/small_model_server.py FOLDER [--port N] [--context N]

`http://127.0.0.1:PORT/v1#NAME` is then a model for PIPELINES_MODEL.
"""

import argparse
import sys
from pathlib import Path

from fetch_model import model_file

CONTEXT = 32_768  # tokens of a question and its answer: the longest are those for rules and plans


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--context", type=int, default=CONTEXT)
    given = parser.parse_args()
    found = model_file(given.folder)
    if found is None:
        sys.exit(f"{given.folder} has no model; `make test-models` fetches one")
    sys.path.insert(0, str(given.folder))
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(found)
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = given.port
    parameters.n_ctx = given.context
    parameters.n_parallel = 1
    parameters.warmup = False
    server = xllamacpp.Server(parameters)
    print(f"serving {found.stem} at {server.listening_address}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
