"""One sentence into clauses, from what the world has: no list of sentence shapes.

cursor, tool_names, vocabulary: tokens, names of tools, and what words stand for here.
thing, phrases, relations; state_phrases, conditions; field_phrases, arguments, formulas, times: things and
persons, what is so, amounts and moments. modality, said, leads, complements, predicates, asked_values,
quotas, guards: which calls are refused or what they need. answers: what they are answered with. changes,
values, defaults, computations, lists, orders, shown_fields, nothing_special: the other things a sentence
says. read_sentence: all of them, tied to tools that they fit.
"""
