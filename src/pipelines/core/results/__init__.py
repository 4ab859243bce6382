"""What many runs come to: gates, statistics of tasks, and comparisons of batches and of versions.

Enter through `results`, `gate` and `compare_batches`.
"""
