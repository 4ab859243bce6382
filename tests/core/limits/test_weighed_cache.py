"""What is kept is bounded by its weight, and what was used last stays."""

from pipelines.core.limits.weighed_cache import WeighedCache


def made(weight):
    return lambda: (object(), weight)


def test_what_is_kept_is_made_once():
    cache = WeighedCache(most_bytes=10, most_things=10)
    assert cache.get("a", made(4)) is cache.get("a", made(4))
    assert (len(cache), cache.bytes) == (1, 4)


def test_what_was_used_longest_ago_makes_room():
    cache = WeighedCache(most_bytes=10, most_things=10)
    first, second = cache.get("a", made(4)), cache.get("b", made(4))
    cache.get("a", made(4))
    cache.get("c", made(4))
    assert cache.bytes == 8
    assert cache.get("a", made(4)) is first
    assert cache.get("b", made(4)) is not second


def test_the_number_is_bounded_too_and_one_is_always_kept():
    cache = WeighedCache(most_bytes=10, most_things=2)
    for name in "abc":
        cache.get(name, made(1))
    assert len(cache) == 2
    large = cache.get("large", made(99))
    assert (len(cache), cache.bytes) == (1, 99)
    assert cache.get("large", made(99)) is large
    cache.clear()
    assert (len(cache), cache.bytes) == (0, 0)
