"""Datasets and their tasks: uploaded, previewed, read, corrected. Enter at `upload_tasks` and `read_task`."""
