"""The `pipelines` command. Each command parses its options, calls the server or the core, and prints.

A command and its flags are in `commands.py` of its folder; `main` puts them together. `options` has the
options that many commands share.
"""
