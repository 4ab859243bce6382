"""`pipelines up`, `worker`, `prune`, `token`, `demo` and `models`: the server itself, on its own machine."""
