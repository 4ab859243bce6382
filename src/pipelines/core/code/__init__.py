"""Uploaded code: where it comes from, its tree, its entry point, its secrets, and how secrets are masked.

Enter through `code_source` and `code_config`.
"""
