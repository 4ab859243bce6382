"""One run: opened, dispatched to its agent, read back. Enter at `open_run`, `dispatch_run` and `read_run`."""
