"""What people read of runs and batches beside the run itself: comparisons, exports, reports."""
