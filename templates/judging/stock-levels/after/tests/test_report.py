from stock.product import Product
from stock.report import low, report


def test_the_scarcest_is_first():
    few, none = Product("nail", 4), Product("screw", 0, level=0)
    assert low([few, none, Product("bolt", 5)]) == [none, few]


def test_nothing_is_low():
    assert report([Product("bolt", 5)]) == "nothing is low"
