"""One sentence into clauses, from what the world has: no list of sentence shapes.

cursor, tool_names, vocabulary: tokens, names of tools, and what words stand for here.
phrases, times, conditions, formulas: things, moments, what is so, amounts.
modality, said, guards: which calls are refused or what they need. answers: what they are answered with.
changes, values, computations, lists, shown_fields, nothing_special: the other things a sentence may say.
read_sentence: all of them, tied to tools that they fit.
"""
