"""The eval library: scenarios, matrices, their reports, drafts from telemetry. Enter at `start_matrix`."""
