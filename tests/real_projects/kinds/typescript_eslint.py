"""TypeScript with eslint and no tests yet: the tools that are configured, without scripts for them."""

from tests.real_projects.kind import Found, Kind, package, text

ROUTES = text("""
    import { type Point, distance } from './geometry.js'

    export interface Route {
      readonly name: string
      readonly points: readonly Point[]
    }

    export function length(route: Route): number {
      let total = 0
      for (const [index, point] of route.points.entries()) {
        const before = route.points[index - 1]
        if (before) total += distance(before, point)
      }
      return total
    }
""")

KIND = Kind(
    title="TypeScript with tsc and eslint",
    profile="generic",
    programs=("node>=20", "npm"),
    manager="npm",
    files={
        "package.json": package(
            name="routes",
            private=True,
            type="module",
            devDependencies={
                "@eslint/js": "10.0.1",
                "eslint": "10.15.0",
                "typescript": "6.0.3",
                "typescript-eslint": "8.73.0",
            },
        ),
        "tsconfig.json": text("""
            {
              // Comments are fine here.
              "compilerOptions": {
                "strict": true,
                "target": "es2022",
                "module": "nodenext",
                "noUncheckedIndexedAccess": true,
                "rootDir": "src",
                "outDir": "dist"
              },
              "include": ["src"]
            }
        """),
        "eslint.config.js": text("""
            import js from '@eslint/js'
            import ts from 'typescript-eslint'

            export default [{ ignores: ['dist'] }, js.configs.recommended, ...ts.configs.recommended]
        """),
        "src/geometry.ts": text("""
            export interface Point {
              readonly x: number
              readonly y: number
            }

            export const distance = (a: Point, b: Point): number => Math.hypot(a.x - b.x, a.y - b.y)
        """),
        "src/routes.ts": ROUTES,
        "src/index.ts": text("""
            export { type Point, distance } from './geometry.js'
            export { type Route, length } from './routes.js'
        """),
    },
    red={
        "src/routes.ts": ROUTES.replace("let total = 0", "let total: string = 0").replace(
            "export function", "const unused: any = 1\n\nexport function"
        )
    },
    green_finds={
        "lint": Found("pass", says="clean"),
        "types": Found("pass", says="clean"),
    },
    red_finds={
        "lint": Found(
            "fail",
            problems=(
                ("src/routes.ts", 8, "@typescript-eslint/no-unused-vars"),
                ("src/routes.ts", 8, "@typescript-eslint/no-explicit-any"),
            ),
        ),
        "types": Found("fail", problems=(("src/routes.ts", 11, "TS2322"), ("src/routes.ts", 16, "TS2322"))),
    },
    absent=("tests", "build"),
)
