"""Simulated tools as plans: small declarative programs over the ledger.

language (what a plan may say) <- run_plan (what it does) <- reading (plans from names, schemas and prose)
<- simulator (one agent's tools over one world). Nothing here does I/O or asks a clock.
"""
