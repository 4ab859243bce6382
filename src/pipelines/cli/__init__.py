"""The `pipelines` command. Each command parses its options, calls the server or the core, and prints."""
