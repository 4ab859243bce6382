from shop.stock import missing


def test_the_last_item_is_looked_at_too():
    assert missing({"mug": 1, "pot": 5}, {"mug": 1, "pot": 1}) == ["pot"]


def test_a_cart_of_one_item_is_looked_at():
    assert missing({"pot": 1}, {}) == ["pot"]
