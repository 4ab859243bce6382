"""Pages of datasets and tasks."""
