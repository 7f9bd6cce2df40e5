"""Which package of aigon imports which, as a Markdown table of counts: docs/packages.md.

    python -m benchmarks.packages > docs/packages.md

Rows import columns. Packages stand in the order of the layers in pyproject.toml, so a count right of the diagonal is
an import downwards, and one left of it points upwards.
"""

import ast
import collections
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def read_layers() -> list[str]:
    """Return the packages from the top to the bottom, as import-linter holds them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = [
        contract["layers"] for contract in settings["tool"]["importlinter"]["contracts"] if "layers" in contract
    ]
    return [name.strip().removeprefix("aigon.") for layer in layers for name in re.split(r"[:|]", layer)]


def count_imports(packages: list[str]) -> collections.Counter[tuple[str, str]]:
    """Return how many import statements of one package name another."""
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    for package in packages:
        folder = ROOT / "aigon" / package
        for file in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]:
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("aigon"):
                    names = (
                        [node.module or ""] if node.module != "aigon" else [f"aigon.{name.name}" for name in node.names]
                    )
                    counts.update((package, name.split(".")[1]) for name in names)
    return counts


def main() -> None:
    """Print the table."""
    packages = read_layers()
    counts = count_imports(packages)
    print("# Packages and their imports\n")
    print(
        "Made by `python -m benchmarks.packages`. Rows import columns; the order is that of the layers, so counts right"
    )
    print("of the diagonal point downwards.\n")
    print(f"| | files | lines | {' | '.join(packages)} |")
    print(f"|---|---|---|{'---|' * len(packages)}")
    for package in packages:
        folder = ROOT / "aigon" / package
        files = list(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
        lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
        cells = ["·" if other == package else str(counts[package, other] or "") for other in packages]
        print(f"| {package} | {len(files)} | {lines} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
