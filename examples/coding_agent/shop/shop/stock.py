"""What lies on the shelves."""


def missing(wanted, shelves):
    """The items of a cart that are not there in number."""
    items = sorted(wanted)
    found = []
    for place in range(len(items) - 1):
        item = items[place]
        if shelves.get(item, 0) < wanted[item]:
            found.append(item)
    return found
