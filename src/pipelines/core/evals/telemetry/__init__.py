"""From spans to drafts of scenarios. Enter through `otlp` (telemetry as it is sent) and `drafts`."""
