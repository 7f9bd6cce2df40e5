"""A package of ES modules with pnpm and vitest, whose script would watch for changes."""

from tests.real_projects.kind import Found, Kind, package, text

SLUG = text("""
    export function slug(title, { max = 40 } = {}) {
      const words = title.normalize('NFKD').toLowerCase().match(/[a-z0-9]+/g)
      if (!words) throw new TypeError('a title needs a letter or a digit')
      return words.join('-').slice(0, max)
    }
""")

KIND = Kind(
    title="pnpm + vitest",
    profile="library",
    programs=("node>=20", "pnpm"),
    manager="pnpm",
    files={
        "package.json": package(
            name="slugs",
            type="module",
            exports="./src/slug.js",
            scripts={"test": "vitest"},
            devDependencies={"vitest": "4.1.12"},
        ),
        "src/slug.js": SLUG,
        "src/unique.js": text("""
            export const unique = (name, taken) => (taken.has(name) ? unique(`${name}-2`, taken) : name)
        """),
        "src/slug.test.js": text("""
            import { describe, expect, it } from 'vitest'
            import { slug } from './slug.js'

            describe('slug', () => {
              it('joins words', () => {
                expect(slug('Hello, World!')).toBe('hello-world')
              })

              it('is cut', () => {
                expect(slug('a'.repeat(50))).toHaveLength(40)
              })

              it('needs a word', () => {
                expect(() => slug('...')).toThrow(TypeError)
              })
            })
        """),
        "src/unique.test.js": text("""
            import { expect, it } from 'vitest'
            import { unique } from './unique.js'

            it('numbers what is taken', () => {
              expect(unique('a', new Set(['a']))).toBe('a-2')
            })

            it.skip('numbers on', () => {
              expect(unique('a', new Set(['a', 'a-2']))).toBe('a-3')
            })
        """),
    },
    red={
        "src/slug.js": SLUG.replace("join('-')", "join('_')"),
        "src/unique.js": "import { nothing } from './gone.js'\n\nexport const unique = nothing\n",
    },
    green_finds={"tests": Found("pass", (4, 0, 1, 0))},
    red_finds={
        "tests": Found(
            "fail",
            (2, 1, 0, 1),
            (
                ("src/slug.test.js", 6, "src/slug.test.js::slug > joins words"),
                ("src/unique.js", 1, "src/unique.test.js"),
            ),
            says="gone.js",
        )
    },
)
