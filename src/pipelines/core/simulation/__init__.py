"""Simulated tools as plans: small declarative programs over the ledger.

language (what a plan may say) <- interpret (what it means), emit (the same as code) <- run_plan (one call)
<- reading (plans from names, schemas and prose) <- build (one agent's tools over one world). Nothing here
does I/O or asks a clock.
"""
