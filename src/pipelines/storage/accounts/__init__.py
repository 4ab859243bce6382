"""Orgs, keys, sign-ins and credentials."""
