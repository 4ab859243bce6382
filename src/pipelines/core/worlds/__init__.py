"""Synthetic worlds: a world made from tools, what is wrong with one, and tasks asked of it, each proved.

shapes (the records) <- outline (types and fields) <- make_world <- advisories, refine
<- ground (one world, ready to be called) <- draft_rows <- prove_row.
Pure: same arguments, same bytes; chance is drawn from `rng_seed` and the place of a value, never a stream.
Storage, sessions and models are elsewhere; another author may make world or rows and have them checked here.
"""
