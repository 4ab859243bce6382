"""Values of fields: numbers, moments, ids and texts as such fields have them.

Each is drawn by its place. Enter at `values.scalar` and `times.Clock`.
"""
