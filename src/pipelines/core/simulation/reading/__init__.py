"""Plans read from names, schemas, descriptions and the shape of the seeded world; no model is asked.

domain (one survey of types, fields, references, and of each tool) <- targets (what a tool is about) <- steps,
replies, records (how a plan says it) <- filters (which records) <- one module per family <- assemble (which
family answers, on what grounds) <- build.

A family makes a draft, in which expressions are nodes (core/simulation/expr); assemble writes it down.
"""
