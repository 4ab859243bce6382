"""Rows in and out. The only room that knows SQL; it decides nothing about the domain.

A module has the functions that read and write one thing. Tables are made in `database/migrations.py`.
"""
