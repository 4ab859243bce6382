"""Request bodies as the OpenAPI document shows them."""
