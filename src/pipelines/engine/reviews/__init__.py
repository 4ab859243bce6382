"""The review queue: opening items, deciding them, and what each decision does. Enter at `review_evals`."""
