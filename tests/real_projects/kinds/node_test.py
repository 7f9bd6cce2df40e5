"""A package without any dependency, tested with node's own runner."""

from tests.real_projects.kind import Found, Kind, package, text

QUEUE = text("""
    export class Queue {
      #waiting = []

      put(item, priority = 0) {
        this.#waiting.push({ item, priority })
        this.#waiting.sort((a, b) => b.priority - a.priority)
      }

      get size() {
        return this.#waiting.length
      }

      take() {
        if (!this.size) throw new Error('nothing waits')
        return this.#waiting.shift().item
      }
    }
""")

KIND = Kind(
    title="node:test",
    profile="library",
    programs=("node>=20", "npm"),
    files={
        "package.json": package(name="queues", type="module", main="lib/queue.js", scripts={"test": "node --test"}),
        "lib/queue.js": QUEUE,
        "lib/names.js": text("""
            const all = (queue) => Array.from({ length: queue.size }, () => queue.take())
            export const names = (queue) => all(queue).join(' ')
        """),
        "test/queue.test.js": text("""
            import assert from 'node:assert/strict'
            import { describe, it } from 'node:test'
            import { Queue } from '../lib/queue.js'

            describe('a queue', () => {
              it('gives the urgent first', () => {
                const queue = new Queue()
                queue.put('later')
                queue.put('now', 9)
                assert.equal(queue.take(), 'now')
              })

              it('says that nothing waits', () => {
                assert.throws(() => new Queue().take(), /nothing waits/)
              })

              it('can be stopped', { skip: true }, () => {})
            })
        """),
        "test/names.test.js": text("""
            import assert from 'node:assert/strict'
            import test from 'node:test'
            import { names } from '../lib/names.js'
            import { Queue } from '../lib/queue.js'

            test('all names, in their order', () => {
              const queue = new Queue()
              queue.put('a')
              queue.put('b')
              assert.equal(names(queue), 'a b')
            })
        """),
    },
    red={
        "lib/queue.js": QUEUE.replace("b.priority - a.priority", "a.priority - b.priority"),
        "lib/names.js": "export const names = (queue) => queue.all().join(' ')\n",
    },
    green_finds={"tests": Found("pass", (3, 0, 1, 0))},
    red_finds={
        "tests": Found(
            "fail",
            (1, 2, 1, 0),
            (
                ("test/queue.test.js", 10, "a queue::gives the urgent first"),
                ("lib/names.js", 1, "all names, in their order"),
            ),
        )
    },
)
