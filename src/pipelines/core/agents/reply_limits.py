"""Limits of an agent's reply: what is larger is refused, dropped or cut, with a message."""

MAX_REPLY_BYTES = 8 * 1024 * 1024  # of the whole reply; a long rich transcript has some hundred kilobytes
MAX_FINAL_RESPONSE = 50_000  # characters; the rest is cut with a warning
MAX_MESSAGES = 10_000  # of one transcript; the longest agents make some hundreds
MAX_REPLY_VALUES = 100_000  # in messages, and in metadata: a transcript of thousands of messages has fewer
MAX_METADATA_BYTES = 256 * 1024
