"""The API of the eval library and of telemetry."""
