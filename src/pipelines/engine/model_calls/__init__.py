"""Asking a model: which client, at whose expense, stored before and after. Enter at `models`."""
