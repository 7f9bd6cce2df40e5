"""Lay out the pages of the site: all of docs/, and what readers look for elsewhere in the repository.

`python docs/site.py FOLDER` writes FOLDER/mkdocs.yml and FOLDER/pages, for `zensical build -f FOLDER/mkdocs.yml`. The
list of pages is docs/index.md. Links work on GitHub as they stand; here they lead to where each page goes.
"""

import json
import posixpath
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INDEX = "docs/index.md"
LINK = re.compile(r"""(\]\(|\b(?:src|srcset|href)=")(?![a-z]+:)([^)"#\s]+)""")
Nav = list["str | dict[str, str | Nav]"]


def list_pages() -> dict[str, str]:
    """Return the path on the site of each page, by its path in the repository."""
    docs = {path: path.relative_to(ROOT / "docs") for path in sorted((ROOT / "docs").rglob("*.md"))}
    top = {path: Path(path.name.lower()) for path in (*sorted(ROOT.glob("*.md")), ROOT / ".github/CODE_OF_CONDUCT.md")}
    example = {ROOT / ".aigon.example/README.md": Path("aigon.example.md")}
    pages = docs | {path: Path("project", name) for path, name in top.items()} | example
    return {path.relative_to(ROOT).as_posix(): to.as_posix() for path, to in pages.items()}


def find_target(source: str, link: str) -> str:
    """Return the path in the repository that a link of a page leads to; for a folder, its README."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
    return f"{target}/README.md" if (ROOT / target).is_dir() else target


def rewrite_links(source: str, text: str, pages: dict[str, str]) -> str:
    """Return the page with links to where other pages and files go. A link to nothing stays, and fails the build."""

    def rewrite(match: re.Match[str]) -> str:
        target = find_target(source, match[2])
        if not (ROOT / target).is_file():
            return match[0]
        to = pages.get(target, f"files/{target.lstrip('.')}")
        return match[1] + posixpath.relpath(to, posixpath.dirname(pages[source]) or ".")

    return LINK.sub(rewrite, text)


def list_files(source: str, text: str, pages: dict[str, str]) -> Iterator[str]:
    """Yield the files that a page links to and that are no pages: pictures, the license."""
    targets = (find_target(source, link) for _, link in LINK.findall(text))
    yield from (target for target in targets if target not in pages and (ROOT / target).is_file())


def arrange_pages(pages: dict[str, str]) -> Nav:
    """Return the navigation: groups and titles of docs/index.md, in its order. A README stands for its folder.

    What the index leaves out comes last.
    """
    remaining = {page: to for page, to in pages.items() if page != INDEX}
    nav: Nav = ["index.md"]
    _, *parts = re.split(r"(?m)^(?:## (.+)|\*\*(.+)\*\*)$", (ROOT / INDEX).read_text(encoding="utf-8"))
    for heading, bold, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        group: Nav = []
        nav.append({heading or bold: group})
        for title, link in re.findall(r"\[([^]]+)\]\(([^)#:]+)", text):
            target = find_target(INDEX, link)
            if target.startswith("docs/") and target.endswith("/README.md"):
                below = [page for page in remaining if page.startswith(posixpath.dirname(target))]
                group.append(
                    {title: sorted((remaining.pop(page) for page in below), key=lambda to: "README" not in to)}
                )
            elif target in remaining:
                group.append({title: remaining.pop(target)})
    return [*nav, {"Project": list(remaining.values())}]


def main(folder: Path) -> None:
    """Write the pages, the files that they link to, and the settings of the site."""
    pages = list_pages()
    shutil.rmtree(folder, ignore_errors=True)
    for source, to in pages.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        page = folder / "pages" / to
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(rewrite_links(source, text, pages), encoding="utf-8")
        for file in list_files(source, text, pages):
            copy = folder / "pages/files" / file.lstrip(".")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, copy)
    settings = (ROOT / "docs/mkdocs.yml").read_text(encoding="utf-8")
    (folder / "mkdocs.yml").write_text(f"{settings}nav: {json.dumps(arrange_pages(pages))}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
