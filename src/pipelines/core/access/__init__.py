"""Who asks: identities, API keys and tokens, and which issuers of tokens are trusted.

Enter through `identity` and `tokens`.
"""
