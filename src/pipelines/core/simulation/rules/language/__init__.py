"""The published language of rules: a small grammar (`english`) whose nouns are the world's own.

text → tokens (`text`) → all parses of a sentence (`grammar`) → forms of rules for each tool (`meaning`, whose
tables are `phrases`, `clauses` and `changes`, over a `scope`) → the sentence as it is shown back
(`to_sentence`). A sentence with no parse is reported with the word at which reading stopped (`report`) and
with what to write instead (`suggest`); one with two meanings is reported with both.
"""
