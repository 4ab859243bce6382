"""A warehouse: items on shelves of bins, orders to pick, suppliers, and one record of settings."""

import random
from typing import ClassVar

from support.backends.backend import Backend, Refusal, Row, tool


class Warehouse(Backend):
    tools: ClassVar = [
        tool("get_item", "Stock of an item.", sku="string"),
        tool("low_stock", "Items at or below their reorder level.", warehouse_zone="string?"),
        tool("receive_goods", "Book goods in.", sku="string", quantity="integer", bin="string"),
        tool(
            "move_stock",
            "Move stock between bins.",
            sku="string",
            quantity="integer",
            source="string",
            target="string",
        ),
        tool("create_order", "Create a customer order.", customer="string", sku="string", quantity="integer"),
        tool("pick_order", "Pick an order.", order_number="integer"),
        tool("ship_order", "Ship a picked order.", order_number="integer", carrier="string"),
        tool("cancel_order", "Cancel an order that is not shipped.", order_number="integer"),
        tool("open_orders", "Orders that are not shipped, oldest first."),
        tool("set_price", "Change the price of an item by percent.", sku="string", percent="number"),
        tool("stock_value", "Value of the stock of an item.", sku="string"),
        tool("remove_item", "Remove an item without stock.", sku="string"),
    ]

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        goods = [("bolt", "A"), ("nut", "A"), ("drill", "B"), ("saw", "B"), ("glove", "C"), ("tape", "C")]
        self.state["items"] = {
            f"SKU-{n:03d}": {
                "sku": f"SKU-{n:03d}",
                "name": name,
                "zone": zone,
                "price": chance.choice([0.25, 3.9, 49.99, 120.0]),
                "reorder_level": 5,
                "bins": {f"{zone}1": chance.randrange(9), f"{zone}2": chance.randrange(4)},
                "reserved": 0,
            }
            for n, (name, zone) in enumerate(goods, 1)
        }
        self.state["orders"] = {
            str(700 + n): {
                "number": 700 + n,
                "customer": chance.choice(["Acme", "Bolt & Co", "Cargo"]),
                "lines": [{"sku": f"SKU-{1 + n:03d}", "quantity": 1 + n}],
                "status": chance.choice(["new", "picked", "shipped"]),
            }
            for n in range(4)
        }
        self.state["settings"] = {
            "main": {"next_order": 704, "carriers": {"post": 4.5, "truck": 30.0}, "log": []}
        }

    def likely_call(self) -> tuple[str, Row]:
        pick, sku, order = self.chance.choice, self.some("items"), int(self.some("orders")[-3:])
        zone = self.state["items"][sku]["zone"] if sku in self.state["items"] else "A"
        calls: list[tuple[str, Row]] = [
            ("get_item", {"sku": sku}),
            ("low_stock", pick([{}, {"warehouse_zone": pick(["A", "B", "C"])}])),
            (
                "receive_goods",
                {
                    "sku": sku,
                    "quantity": pick([0, 3, 12]),
                    "bin": pick([f"{zone}1", f"{zone}2", f"{zone}3"]),
                },
            ),
            (
                "move_stock",
                {"sku": sku, "quantity": pick([1, 2, 6]), "source": f"{zone}1", "target": f"{zone}2"},
            ),
            (
                "create_order",
                {"customer": pick(["Acme", "Dunn"]), "sku": sku, "quantity": pick([1, 2, 9])},
            ),
            ("pick_order", {"order_number": order}),
            ("ship_order", {"order_number": order, "carrier": pick(["post", "truck", "drone"])}),
            ("cancel_order", {"order_number": order}),
            ("open_orders", {}),
            ("set_price", {"sku": sku, "percent": pick([10, -5, 2.5, -60])}),
            ("stock_value", {"sku": sku}),
            ("remove_item", {"sku": sku}),
        ]
        return pick(calls)

    def _item(self, sku: str) -> Row:
        return self.found("items", sku, f"unknown sku {sku}")

    def _order(self, number: int) -> Row:
        return self.found("orders", str(number), f"Order {number} does not exist")

    def get_item(self, sku: str) -> Row:
        item = self._item(sku)
        return {**item, "available": sum(item["bins"].values()) - item["reserved"]}

    def low_stock(self, warehouse_zone: str | None = None) -> Row:
        low = [
            one["sku"]
            for one in self.state["items"].values()
            if sum(one["bins"].values()) <= one["reorder_level"]
            and (warehouse_zone is None or one["zone"] == warehouse_zone)
        ]
        return {"count": len(low), "skus": low}

    def receive_goods(self, sku: str, quantity: int, bin: str) -> Row:
        item = self._item(sku)
        if quantity <= 0:
            raise Refusal({"error": "quantity must be positive"})
        item["bins"][bin] = item["bins"].get(bin, 0) + quantity
        self.state["settings"]["main"]["log"].append(f"in {quantity} {sku}")
        return {"sku": sku, "bin": bin, "now": item["bins"][bin]}

    def move_stock(self, sku: str, quantity: int, source: str, target: str) -> str:
        item = self._item(sku)
        if item["bins"].get(source, 0) < quantity:
            raise Refusal(f"Error: only {item['bins'].get(source, 0)} in {source}")
        item["bins"][source] -= quantity
        item["bins"][target] = item["bins"].get(target, 0) + quantity
        return f"Moved {quantity} x {item['name']} from {source} to {target}."

    def create_order(self, customer: str, sku: str, quantity: int) -> Row:
        item, settings = self._item(sku), self.state["settings"]["main"]
        if sum(item["bins"].values()) - item["reserved"] < quantity:
            raise Refusal({"error": "insufficient_stock", "sku": sku})
        number = settings["next_order"]
        settings["next_order"] += 1
        item["reserved"] += quantity
        order = {
            "number": number,
            "customer": customer,
            "lines": [{"sku": sku, "quantity": quantity}],
            "status": "new",
        }
        self.state["orders"][str(number)] = order
        return {**order, "total": round(item["price"] * quantity, 2)}

    def pick_order(self, order_number: int) -> Row:
        order = self._order(order_number)
        if order["status"] != "new":
            raise Refusal({"error": f"Order {order_number} is {order['status']}"})
        order["status"] = "picked"
        return {
            "number": order_number,
            "status": "picked",
            "pieces": sum(line["quantity"] for line in order["lines"]),
        }

    def ship_order(self, order_number: int, carrier: str) -> Row:
        order, carriers = self._order(order_number), self.state["settings"]["main"]["carriers"]
        if carrier not in carriers:
            raise Refusal({"error": f"carrier {carrier} is not one of {', '.join(carriers)}"})
        if order["status"] != "picked":
            raise Refusal({"error": f"Order {order_number} is {order['status']}"})
        order["status"] = "shipped"
        order["shipping"] = {"carrier": carrier, "cost": carriers[carrier]}
        return order

    def cancel_order(self, order_number: int) -> Row:
        order = self._order(order_number)
        if order["status"] == "shipped":
            raise Refusal({"error": "too late"})
        del self.state["orders"][str(order_number)]
        return {"cancelled": order_number}

    def open_orders(self) -> list[Row]:
        return [
            {"number": one["number"], "customer": one["customer"], "status": one["status"]}
            for one in self.state["orders"].values()
            if one["status"] != "shipped"
        ]

    def set_price(self, sku: str, percent: float) -> Row:
        item = self._item(sku)
        if percent < -50:
            raise Refusal({"error": "more than half"})
        old = item["price"]
        item["price"] = round(old * (1 + percent / 100), 2)
        return {"sku": sku, "old": old, "new": item["price"]}

    def stock_value(self, sku: str) -> Row:
        item = self._item(sku)
        pieces = sum(item["bins"].values())
        return {"pieces": pieces, "value": round(pieces * item["price"], 2), "bins": len(item["bins"])}

    def remove_item(self, sku: str) -> Row:
        item = self._item(sku)
        if sum(item["bins"].values()) > 0:
            raise Refusal({"error": f"{item['name']} is still in stock"})
        del self.state["items"][sku]
        return {"removed": sku, "left": len(self.state["items"])}
