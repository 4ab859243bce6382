"""What a customer wants to buy."""


def add(item, count=1, cart=[]):
    """The cart with so many of an item more; without a cart, a new one."""
    for _ in range(count):
        cart.append(item)
    return cart


def counted(cart):
    """How many there are of each item."""
    return {item: cart.count(item) for item in cart}
