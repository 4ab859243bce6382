"""Rules of a simulated backend as data. What is enforced is always a typed rule (`rule`): written as YAML or
JSON (`forms`), or as a sentence of the published language (`language/`), tried on the seeded world (`trial`),
and added to plans (`apply_rules`).
"""
