from shop.basket import Basket


class UndoableBasket(Basket):
    def __init__(self):
        super().__init__()
        self.removed = []

    def remove(self, index):
        self.removed.append((index, self.items[index]))
        return super().remove(index)

    def undo(self):
        if self.removed:
            self.items.insert(*self.removed.pop())


def test_undo_puts_it_back_where_it_was():
    basket = UndoableBasket()
    for item in ("tea", "milk"):
        basket.add(item)
    assert basket.remove(0) == "tea"
    basket.undo()
    assert basket.items == ["tea", "milk"]


def test_undo_of_nothing_does_nothing():
    basket = UndoableBasket()
    basket.undo()
    assert basket.items == []
