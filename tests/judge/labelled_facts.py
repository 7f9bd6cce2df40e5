"""What decides by running it whether a criterion of the set that ships is met: code by case and number."""

PYTHON = """
import io, json, math, pathlib, random, sys, tempfile, threading
def raises(kind, call, *words):
    try:
        call()
    except kind as error:
        return all(word in str(error) for word in words)
    except Exception:
        return False
    return False

def tried(code):
    names = dict(globals())
    exec(code, names)
    return bool(names["yes"])
"""
"""What a fact may use. A fact sets `yes`, which is whether the criterion of that number is met."""
TRUE_OF_PYTHON = {
    "page-count": {
        1: "from catalogue.pages import page_count; yes = page_count(20, 10) == 2",
        2: "from catalogue.pages import page_count; yes = page_count(21, 10) == 3",
        3: "from catalogue.pages import page_count; yes = page_count(0, 10) == 0",
        4: "from catalogue.pages import page_count; yes = raises(ValueError, lambda: page_count(1, 0))",
    },
    "settings-file": {
        1: "from player.settings import *; yes = settings('none') == DEFAULTS",
        2: "from player.settings import *; f = pathlib.Path('f.json'); f.write_text('{'); "
        "yes = raises(SettingsError, lambda: settings(f), 'f.json')",
        3: "from player.settings import *; f = pathlib.Path('f.json'); f.write_text('{\"odd\": 1}'); "
        "yes = raises(SettingsError, lambda: settings(f), 'odd')",
    },
    "exports": {
        1: "from sheets.export import *; out = io.StringIO(); export('json', [{'a': 1}], out); "
        "yes = json.loads(out.getvalue()) == [{'a': 1}]",
        2: "from sheets.export import *; out = io.StringIO(); export('csv', [{'a': 1}], out); "
        "yes = out.getvalue().split() == ['a', '1']",
        3: "from sheets.export import *; yes = raises(ValueError, lambda: export('x', [], None), 'csv', 'json')",
    },
    "undo": {
        1: "from shop.basket import Basket; b = Basket(); b.add('tea'); yes = b.remove(0) == 'tea'",
        2: "from shop.basket import Basket; yes = hasattr(Basket, 'undo')",
        3: "from shop.basket import Basket; yes = hasattr(Basket, 'undo')",
    },
    "roman": {
        1: "from chapters.numerals import roman; yes = not raises(ValueError, lambda: roman(1066))",
        2: "from chapters.numerals import roman; yes = raises(ValueError, lambda: roman(0))",
        3: "import runpy; sys.argv[1:] = ['4']; sys.stdout = out = io.StringIO(); "
        "runpy.run_module('chapters', run_name='__main__'); sys.stdout = sys.__stdout__; "
        "yes = out.getvalue() == 'IV\\n'",
    },
    "counter": {
        1: "from visits.counter import Counter; yes = any('lock' in name.lower() for name in vars(Counter()))",
        2: "from visits.counter import Counter; c = Counter(); c.add('/'); c.snapshot()['/'] = 9; "
        "yes = c.snapshot() == {'/': 1}",
        3: "from visits.counter import Counter; c = Counter(); c.add('/'); c.reset(); yes = c.snapshot() == {}",
    },
    "passwords": {
        1: "from accounts.passwords import *; yes = raises(Refused, lambda: check('ada', 'elevenchars'))",
        2: "from accounts.passwords import *; yes = raises(Refused, lambda: check('Adalovelace-1', 'adalovelace-1'))",
        3: "from accounts.passwords import *; yes = not raises(Refused, lambda: check('ada', 'short'), 'short')",
    },
    "stock-levels": {
        1: "from stock.product import Product as P; "
        "yes = P('a', 4).is_low and not P('a', 5).is_low and P('a', 8, 9).is_low",
        2: "from stock.product import Product as P; from stock.report import low; a, b = P('a', 3), P('b', 1); "
        "yes = low([a, b, P('c', 7)]) == [b, a]",
        3: "from stock.product import Product as P; yes = P('a', 0, 0).is_low",
        4: "from stock.report import report; yes = report([]) == 'nothing is low'",
    },
}
TRUE_OF_JAVASCRIPT = {
    "slugs": {
        1: "import { slug } from './src/slug.js'; yes = slug('AbC') === 'abc'",
        2: "import { slug } from './src/slug.js'; yes = slug('Crème brûlée') === 'creme-brulee'",
        3: "import { slug } from './src/slug.js'; yes = slug('a -- b_c') === 'a-b-c'",
        4: "import { slug } from './src/slug.js'; yes = slug(' (a)! ') === 'a'",
    },
    "discount-codes": {
        1: "import { discounted } from './cart/discount.js'; yes = discounted(100, 'SPRING').total === 100",
        2: "import { discounted } from './cart/discount.js'; yes = discounted(100, 'wElCome').total === 95",
        3: "import { discounted } from './cart/discount.js'; const d = discounted(9, 'x'); "
        "yes = d.total === 9 && d.message !== ''",
    },
    "dates": {
        1: "import { isoDate } from './src/dates.js'; yes = isoDate(new Date(0)) === '1970-01-01'",
        2: "import { list } from './src/list.js'; "
        "yes = list([{ date: new Date(0), number: 1, sum: 2 }]).includes('1970-01-01')",
    },
}
