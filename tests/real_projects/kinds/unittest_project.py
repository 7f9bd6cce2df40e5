"""A Python program tested with the standard library alone, in an environment of its own without pytest; flake8."""

from tests.real_projects.kind import Found, Kind, text

STOCK = text('''
    """What is on the shelves."""


    class Empty(Exception):
        """Nothing left."""


    class Stock:
        """Pieces by name."""

        def __init__(self):
            self.pieces = {}

        def add(self, name, number=1):
            self.pieces[name] = self.pieces.get(name, 0) + number

        def take(self, name):
            if not self.pieces.get(name):
                raise Empty(name)
            self.pieces[name] -= 1
            return self.pieces[name]
''')

KIND = Kind(
    title="unittest project",
    profile="generic",
    modules=("flake8",),
    venv=True,
    files={
        "setup.cfg": "[flake8]\nmax-line-length = 100\nexclude = .venv\n",
        "inventory/__init__.py": "",
        "inventory/stock.py": STOCK,
        "inventory/report.py": 'def report(stock):\n    return ", ".join(sorted(stock.pieces))\n',
        "tests/__init__.py": "",
        "tests/test_stock.py": text("""
            import unittest

            from inventory.stock import Empty, Stock


            class StockTest(unittest.TestCase):
                def setUp(self):
                    self.stock = Stock()

                def test_what_was_added_can_be_taken(self):
                    self.stock.add("bolt", 2)
                    self.assertEqual(self.stock.take("bolt"), 1)

                def test_nothing_is_taken_from_an_empty_shelf(self):
                    with self.assertRaises(Empty):
                        self.stock.take("nut")

                @unittest.skip("no scales yet")
                def test_weight(self):
                    self.fail()
        """),
        "tests/test_report.py": text("""
            import unittest

            from inventory.report import report
            from inventory.stock import Stock


            class ReportTest(unittest.TestCase):
                def test_names_are_sorted(self):
                    stock = Stock()
                    stock.add("nut")
                    stock.add("bolt")
                    self.assertEqual(report(stock), "bolt, nut")
        """),
    },
    red={
        "inventory/stock.py": STOCK.replace("self.pieces[name] -= 1", "self.pieces[name] -= 2"),
        "inventory/report.py": 'import re\n\n\ndef report(stock):\n    return ", ".join(stock["pieces"])\n',
    },
    green_finds={"tests": Found("pass", (3, 0, 1, 0)), "lint": Found("pass", says="clean")},
    red_finds={
        "tests": Found(
            "fail",
            (1, 1, 1, 1),
            (
                ("tests/test_stock.py", 12, "tests.test_stock.StockTest::test_what_was_added_can_be_taken"),
                ("inventory/report.py", 5, "tests.test_report.ReportTest::test_names_are_sorted"),
            ),
        ),
        "lint": Found("fail", problems=(("inventory/report.py", 1, "F401"),), says="'re' imported but unused"),
    },
)
