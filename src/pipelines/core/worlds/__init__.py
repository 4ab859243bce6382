"""Synthetic worlds: a world made from tools, what is wrong with one, and tasks asked of it, each proved.

outline (types and fields) <- values <- types <- ground (one world, ready to be called) <- records, changes <-
rows <- review <- make_world. `shapes` has the records of all of them.
Pure: same arguments, same bytes; chance is drawn from `rng_seed` and the place of a value, never a stream.
Storage, sessions and models are elsewhere; another author may make world or rows and have them checked here.
"""
