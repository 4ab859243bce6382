"""The web interface: each module asks the engine what the API asks it, and hands the answer to a template."""
