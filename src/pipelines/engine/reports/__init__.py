"""What people read of runs and batches besides a run itself: comparisons, summaries, exports, files to share.

Each module is one of these.
"""
