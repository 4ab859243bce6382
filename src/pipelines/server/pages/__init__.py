"""The web interface. Each module calls the engine like the API does and renders the result with a template.

`app` lists all modules with pages: a new one is registered there, and nowhere else. `page` renders, `visitor`
says who asks.
"""
