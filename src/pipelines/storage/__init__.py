"""Rows in and out. The only room that knows SQL; it decides nothing about the domain."""
