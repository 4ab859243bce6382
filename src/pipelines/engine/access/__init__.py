"""API keys and credentials of an org. Enter at `manage_keys` and `manage_credentials`."""
