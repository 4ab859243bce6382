"""Results of many runs: gates, statistics of tasks, and comparisons of batches and versions.

Enter through `results`, `gate` and `compare_batches`.
"""
