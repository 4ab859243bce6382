"""Uploaded code: checked, stored, unpacked, and run in a sandbox. Enter at `upload_code` and `run_code`."""
