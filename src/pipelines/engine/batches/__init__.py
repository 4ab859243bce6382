"""Batches of runs: stored, queued, sent by workers in shards, cancelled and resumed; imports of recorded runs.

Enter at `open_batch` and `run_batch`.
"""
