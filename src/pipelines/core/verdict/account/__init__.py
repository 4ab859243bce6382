"""Whether every word of an answer is accounted for by the run.

answer -> sentences -> segments (what stands between commas and conjunctions) -> tokens; of each token what it
stands for: a value of a record spoken of, the name of its field, the kind of record, a call that was made, a
word of a rule that is quoted, a courtesy. A word that stands for none of these is left open.
"""
