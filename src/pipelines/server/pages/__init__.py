"""The web interface. Each module calls the engine like the API does and renders the result with a
template."""
