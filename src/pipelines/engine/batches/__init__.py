"""Batches of runs: stored, started, worked off in shards, imported. Enter at `open_batch` and `run_batch`."""
