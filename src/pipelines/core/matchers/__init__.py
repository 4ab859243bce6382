"""The language of expected values (`$in`, `$number`, `$date`, …): its form, and whether a value matches.

Enter through `matcher_form` and `matching`. `text_matchers` reads numbers, days and texts as people write
them in several languages; a spelling with two readings keeps both.
"""
