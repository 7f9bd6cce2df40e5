"""Two projects in one repository: a Python service and a Node program, each in a folder of its own."""

from tests.real_projects.kind import Found, Kind, package, text

TAX = "def tax(net: float) -> float:\n    return round(net * 0.2, 2)\n"
LABEL = "exports.label = (name, amount) => `${name}: ${amount.toFixed(2)}`\n"

KIND = Kind(
    title="monorepo: Python and Node",
    profile="generic",
    programs=("node>=20", "npm"),
    modules=("pytest",),
    files={
        "service/pyproject.toml": text("""
            [project]
            name = "service"
            version = "0"

            [tool.pytest.ini_options]
            pythonpath = ["."]
        """),
        "service/tax.py": TAX,
        "service/tests/test_tax.py": text("""
            from tax import tax


            def test_a_fifth() -> None:
                assert tax(100) == 20


            def test_nothing_of_nothing() -> None:
                assert tax(0) == 0
        """),
        "labels/package.json": package(name="labels", private=True, scripts={"test": "node --test"}),
        "labels/label.js": LABEL,
        "labels/label.test.js": text("""
            const assert = require('node:assert/strict')
            const test = require('node:test')
            const { label } = require('./label')

            test('a label has two places', () => {
              assert.equal(label('Tea', 3), 'Tea: 3.00')
            })
        """),
    },
    folders={"labels": "generic", "service": "generic"},
    red={"service/tax.py": TAX.replace("0.2", "0.3"), "labels/label.js": LABEL.replace("toFixed(2)", "toFixed(1)")},
    green_finds={"tests-service": Found("pass", (2, 0, 0, 0)), "tests-labels": Found("pass", (1, 0, 0, 0))},
    red_finds={
        "tests-service": Found(
            "fail", (1, 1, 0, 0), (("service/tests/test_tax.py", 5, "tests/test_tax.py::test_a_fifth"),)
        ),
        "tests-labels": Found("fail", (0, 1, 0, 0), (("labels/label.test.js", 6, "a label has two places"),)),
    },
)
