"""An Express application: node:test behind its script, and a server that is asked."""

from tests.real_projects.kind import Found, Kind, package, text

APP = text("""
    import express from 'express'
    import { Orders } from './orders.js'

    export function build() {
      const app = express()
      const orders = new Orders()
      app.use(express.json())
      app.get('/health', (request, response) => response.json({ status: 'ok' }))
      app.post('/orders', (request, response) => {
        const order = orders.add(request.body.item)
        response.status(201).location(`/orders/${order.id}`).json(order)
      })
      app.get('/orders/:id', (request, response) => {
        const order = orders.get(Number(request.params.id))
        if (!order) return response.status(404).json({ error: 'no such order' })
        response.json(order)
      })
      return app
    }
""")

KIND = Kind(
    title="Express app with endpoints",
    profile="api",
    programs=("node>=20", "npm"),
    manager="npm",
    files={
        "package.json": package(
            name="orders",
            private=True,
            type="module",
            scripts={"start": "node src/server.js", "test": "node --test"},
            dependencies={"express": "5.3.0"},
        ),
        "src/app.js": APP,
        "src/orders.js": text("""
            export class Orders {
              #all = []

              add(item) {
                const order = { id: this.#all.length + 1, item }
                this.#all.push(order)
                return order
              }

              get(id) {
                return this.#all.find((order) => order.id === id)
              }
            }
        """),
        "src/server.js": "import { build } from './app.js'\n\nbuild().listen(process.env.PORT ?? 3000, '127.0.0.1')\n",
        "test/orders.test.js": text("""
            import assert from 'node:assert/strict'
            import test from 'node:test'
            import { Orders } from '../src/orders.js'

            test('an order gets a number', () => {
              assert.equal(new Orders().add('tea').id, 1)
            })
        """),
    },
    config={
        "endpoints": {
            "command": "npm start",
            "ready": "/health",
            "requests": [
                {
                    "method": "POST",
                    "path": "/orders",
                    "json": {"item": "tea"},
                    "expect": {"status": 201, "headers": {"location": True}, "json": {"item": "tea"}},
                    "save": {"where": "headers.location"},
                },
                {"path": "${where}", "expect": {"json": {"item": "tea"}}},
                {"path": "/orders/7", "expect": 404},
            ],
        }
    },
    red={"src/app.js": APP.replace("import { Orders } from './orders.js'", "import { Orders } from './order.js'")},
    green_finds={"tests": Found("pass", (1, 0, 0, 0)), "endpoints": Found("pass", (3, 0, 0, 0))},
    red_finds={
        "tests": Found("pass", (1, 0, 0, 0)),
        "endpoints": Found("error", problems=(("", 0, "server"),), says="Cannot find module 'src/order.js'"),
    },
)
