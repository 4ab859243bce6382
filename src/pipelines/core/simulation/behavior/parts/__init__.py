"""A sentence by its parts: what each word of it stands for here, whatever their order.

cues: words of any trade that tell what is meant. spans: a statement cut into what its words stand for.
statement: one statement with its spans; targets: which tools it speaks of; facts (states, numbers, moments,
given_values, relations, each a fact): what it says is so; sides: for or against. restrictions, settings,
effects, listings, worked_out: what it lays down. answer, read_parts: a whole sentence.

Every word has to be accounted for: it tells what is meant, stands for something of the world or of the
tools spoken of, or is one of the words that say nothing by themselves.
"""
