"""Asking a model: with which key, at whose expense, stored before and after. Enter at `ask_models`."""
