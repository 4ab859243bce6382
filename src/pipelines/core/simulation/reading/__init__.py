"""Plans read from names, schemas, descriptions and the shape of the seeded world; no model is asked.

words, descriptions (English) <- arguments, shapes (one tool, one world) <- targets (what a tool is about)
<- steps (how a plan says it) <- scope (what a description can speak of, as typed terms) <- arithmetic,
comparisons, truths, totals (what it says of them) <- one module per family of verbs <- assemble (which
family answers) <- build.

A family makes a draft, in which expressions are nodes (core/simulation/expr); assemble writes it down.
"""
