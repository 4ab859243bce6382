from shop.cart import add, counted
from shop.money import total
from shop.stock import missing


def test_things_are_counted():
    assert counted(add("mug", 2, [])) == {"mug": 2}


def test_what_is_there_is_not_missing():
    assert missing({"mug": 1, "pot": 1}, {"mug": 3, "pot": 1}) == []


def test_whole_prices_are_summed():
    assert total([1.0, 2.0]) == 300
