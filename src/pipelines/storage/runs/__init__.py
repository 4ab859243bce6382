"""Runs and batches, their traces, and what models were asked for them."""
