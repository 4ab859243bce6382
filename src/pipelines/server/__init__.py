"""HTTP in and out: authenticate, parse, call one engine function, map errors. `app` builds everything."""
