"""Background work of the server: start-up checks, housekeeping, watches, metrics and logs."""
