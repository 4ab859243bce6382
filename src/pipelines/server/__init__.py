"""HTTP in and out: authenticate, parse, call one engine function, map errors.

`app` builds everything; `errors` gives each error its status. A page is in `pages/`, an endpoint of the API
in `api/`, a setting in `config/settings.py`, a metric in `service/metrics.py`.
"""
