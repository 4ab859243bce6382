from shop.cart import add


def test_two_customers_have_two_carts():
    assert add("mug") == ["mug"]
    assert add("pot") == ["pot"]


def test_a_cart_that_is_given_grows():
    cart = ["mug"]
    assert add("pot", 2, cart) is cart
    assert cart == ["mug", "pot", "pot"]
