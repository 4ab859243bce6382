"""Prices, in cents."""


def cents(price):
    """A price such as 19.99 in cents."""
    return int(price * 100)


def total(prices):
    return sum(cents(price) for price in prices)
