"""Background work of the server: start-up checks, housekeeping, watches, metrics and logs.

Each module is one of these; `metrics` has the table of all metrics.
"""
