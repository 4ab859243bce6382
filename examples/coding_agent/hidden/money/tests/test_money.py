from shop.money import cents, total


def test_no_cent_is_lost():
    assert cents(19.99) == 1999
    assert total([0.29, 0.57]) == 86


def test_whole_prices_stay():
    assert cents(20.0) == 2000
