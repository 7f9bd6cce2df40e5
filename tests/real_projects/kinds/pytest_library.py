"""A Python library as pip installs it: src layout, pytest, ruff, mypy, hatchling."""

from tests.real_projects.kind import Found, Kind, text

ROUNDING = text('''
    """Rounding of amounts."""

    from decimal import ROUND_HALF_EVEN, Decimal


    def rounded(amount: Decimal, places: int = 2) -> Decimal:
        """The amount with so many places, half to even."""
        if places < 0:
            raise ValueError("places must not be negative")
        return amount.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_EVEN)
''')
PARSING = text('''
    """Reading of amounts."""

    from decimal import Decimal, InvalidOperation


    def parsed(text: str) -> Decimal:
        """An amount such as `1,234.50`."""
        try:
            return Decimal(text.replace(",", ""))
        except InvalidOperation:
            raise ValueError(f"no amount: {text!r}") from None
''')

KIND = Kind(
    title="pytest library",
    profile="library",
    modules=("pytest", "ruff", "mypy", "build", "hatchling"),
    files={
        "pyproject.toml": text("""
            [build-system]
            requires = ["hatchling"]
            build-backend = "hatchling.build"

            [project]
            name = "coins"
            version = "1.2.0"
            requires-python = ">=3.11"

            [tool.hatch.build.targets.wheel]
            packages = ["src/coins"]

            [tool.pytest.ini_options]
            testpaths = ["tests"]
            pythonpath = ["src"]

            [tool.ruff]
            line-length = 100
            lint.select = ["F", "B"]

            [tool.mypy]
            strict = true
            files = ["src"]
        """),
        "src/coins/__init__.py": text("""
            from coins.parsing import parsed
            from coins.rounding import rounded

            __all__ = ["parsed", "rounded"]
        """),
        "src/coins/py.typed": "",
        "src/coins/rounding.py": ROUNDING,
        "src/coins/parsing.py": PARSING,
        "tests/test_rounding.py": text("""
            from decimal import Decimal

            import pytest

            from coins import rounded


            @pytest.mark.parametrize(("amount", "wanted"), [("1.005", "1.00"), ("1.015", "1.02"), ("2", "2.00")])
            def test_halves_go_to_even(amount: str, wanted: str) -> None:
                assert rounded(Decimal(amount)) == Decimal(wanted)


            def test_places_are_not_negative() -> None:
                with pytest.raises(ValueError, match="negative"):
                    rounded(Decimal(1), -1)


            @pytest.mark.skip(reason="not decided")
            def test_infinity() -> None:
                rounded(Decimal("inf"))
        """),
        "tests/test_parsing.py": text("""
            from decimal import Decimal

            import pytest

            from coins import parsed


            class TestParsed:
                def test_thousands(self) -> None:
                    assert parsed("1,234.50") == Decimal("1234.50")

                def test_nonsense_is_refused(self) -> None:
                    with pytest.raises(ValueError, match="no amount: 'x'"):
                        parsed("x")
        """),
    },
    red={
        "src/coins/rounding.py": ROUNDING.replace("import ROUND_HALF_EVEN", "import ROUND_HALF_UP").replace(
            "rounding=ROUND_HALF_EVEN", "rounding=ROUND_HALF_UP"
        ),
        "src/coins/parsing.py": PARSING.replace(
            '"""Reading of amounts."""\n', '"""Reading of amounts."""\n\nimport os\n'
        )
        .replace('text.replace(",", "")', "text")
        .replace("-> Decimal", "-> int"),
    },
    # Without a network: the backend that is installed, in place of one that is downloaded.
    config={
        "checks": {"build": {"command": "python -m build --no-isolation --wheel --outdir {scratch}", "parser": "build"}}
    },
    green_finds={
        "tests": Found("pass", (6, 0, 1, 0)),
        "lint": Found("pass", says="clean"),
        "types": Found("pass", says="clean"),
        "build": Found("pass", says="built coins-1.2.0-py3-none-any.whl"),
    },
    red_finds={
        "tests": Found(
            "fail",
            (4, 2, 1, 0),
            (
                ("tests/test_rounding.py", 10, "tests/test_rounding.py::test_halves_go_to_even[1.005-1.00]"),
                ("src/coins/parsing.py", 13, "tests/test_parsing.py::TestParsed::test_thousands"),
            ),
            says="4/6 passed, 1 skipped",
        ),
        "lint": Found("fail", problems=(("src/coins/parsing.py", 3, "F401"),), says="`os` imported but unused"),
        "types": Found("fail", problems=(("src/coins/parsing.py", 11, "return-value"),), says="1 error"),
        "build": Found("pass", says="built coins-1.2.0-py3-none-any.whl"),
    },
)
