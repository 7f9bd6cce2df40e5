"""A private npm package tested with jest behind its script."""

from tests.real_projects.kind import Found, Kind, package, text

PRICE = text("""
    'use strict'

    const RATES = { standard: 0.19, reduced: 0.07 }

    function gross(net, rate = 'standard') {
      if (!(rate in RATES)) throw new RangeError(`no rate ${rate}`)
      return Math.round(net * (1 + RATES[rate]) * 100) / 100
    }

    module.exports = { gross }
""")
CART = text("""
    'use strict'

    const { gross } = require('./price')

    class Cart {
      items = []

      add(name, net, rate) {
        this.items.push({ name, net, rate })
        return this
      }

      total() {
        return this.items.reduce((sum, item) => sum + gross(item.net, item.rate), 0)
      }
    }

    module.exports = { Cart }
""")

KIND = Kind(
    title="npm + jest",
    profile="generic",
    programs=("node>=20", "npm"),
    manager="npm",
    files={
        "package.json": package(
            name="shop", private=True, scripts={"test": "jest"}, devDependencies={"jest": "30.5.2"}
        ),
        "src/price.js": PRICE,
        "src/cart.js": CART,
        "test/price.test.js": text("""
            const { gross } = require('../src/price')

            describe('gross', () => {
              test.each([['standard', 119], ['reduced', 107]])('adds the %s rate', (rate, wanted) => {
                expect(gross(100, rate)).toBe(wanted)
              })

              test('knows no other rate', () => {
                expect(() => gross(1, 'none')).toThrow(RangeError)
              })

              test.todo('rounds per line')
            })
        """),
        "test/cart.test.js": text("""
            const { Cart } = require('../src/cart')

            test('the total is the sum of the items', () => {
              expect(new Cart().add('a', 100).add('b', 100, 'reduced').total()).toBe(226)
            })

            test('an empty cart costs nothing', () => {
              expect(new Cart().total()).toBe(0)
            })
        """),
    },
    red={
        "src/price.js": PRICE.replace("reduced: 0.07", "reduced: 0.08"),
        "src/cart.js": CART.replace("gross(item.net, item.rate)", "gross(item.price.net, item.rate)"),
    },
    green_finds={"tests": Found("pass", (5, 0, 1, 0), says="5/5 passed, 1 skipped")},
    red_finds={
        "tests": Found(
            "fail",
            (3, 2, 1, 0),
            (
                ("test/price.test.js", 5, "test/price.test.js::gross > adds the reduced rate"),
                ("src/cart.js", 14, "test/cart.test.js::the total is the sum of the items"),
            ),
        )
    },
    absent=("lint", "types"),
)
