"""Agents for an arena on a small Python project: one is right at once, one in three steps, one cheats."""

from pathlib import Path

from tests.lab import Lab

CALC = "def add(a, b):\n    return a + b\n"
TESTS = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
CRITERIA = (
    'double works <!-- verify: python3 -c "import calc; assert calc.double(4) == 8" -->',
    'half works <!-- verify: python3 -c "import calc; assert calc.half(8) == 4" -->',
    "all tests pass <!-- check: tests -->",
)
QUICK = """
    printf 'def double(a):\\n    return 2 * a\\n\\n\\ndef half(a):\\n    return a / 2\\n' >> calc.py
    printf '\\n\\ndef test_double():\\n    import calc\\n\\n    assert calc.double(3) == 6\\n' >> test_calc.py
"""
STEADY = """
    case "$AIGON_ITERATION" in
        1) printf 'def double(a):\\n    return 3 * a\\n' >> calc.py ;;
        2) sed -i 's/3 \\* a/a * 2/' calc.py ;;
        *) printf 'def half(a):\\n    number = a\\n    return number / 2\\n' >> calc.py ;;
    esac
"""
CHEAT = """
    git rm -q --cached test_calc.py; rm -f test_calc.py
    sed -i 's/- \\[ \\]/- [x]/' "$AIGON_SPEC"
    printf 'def double(a):\\n    return 8\\n' > calc.py
    echo '<promise>COMPLETE</promise>'
"""


def project(lab: Lab) -> None:
    """The project with its spec, on main, everything committed."""
    lab.write("calc.py", CALC)
    lab.write("test_calc.py", TESTS)
    lab.write(".gitignore", "__pycache__/\n.pytest_cache/\n")
    lab.spec(*CRITERIA)


def agents(lab: Lab, **scripts: str) -> None:
    """Agents by name, each a script."""
    for name, script in scripts.items():
        lab.agent(script, name=name)
    lab.config(judge={"backend": "none"})
    lab.commit("the project")


def worktree(lab: Lab, label: str) -> Path:
    """Where the worktree of a candidate is."""
    return lab.root.parent / "repo-worktrees" / f"feature-42-{label}-dark-mode"
