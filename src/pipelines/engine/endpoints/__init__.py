"""Live tool endpoints and cassettes: registered, checked, discovered, recorded."""
