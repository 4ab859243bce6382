"""One run: opened, dispatched to its agent, read back.

Enter at `open_run` and `dispatch_run`."""
