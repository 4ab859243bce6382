"""What runs beside requests: start-up checks, housekeeping, watches, metrics, logs."""
