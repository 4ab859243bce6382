"""Live services behind tools: how an endpoint is configured, its credentials, and how it differs from before.

Enter through `endpoint_config`.
"""
