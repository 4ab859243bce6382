"""Batches of runs: stored, queued, sent in shards, cancelled and resumed; and imports of recorded runs.

Enter at `open_batch` and `run_batch`.
"""
