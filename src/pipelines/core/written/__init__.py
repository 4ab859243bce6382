"""Numbers, days and texts as people write them in several languages: for `$number`, `$date` and `$text`.

Over `core/english`, whose readings these are: a spelling keeps all that it can mean.
"""
