"""Export the files of a tree as a fresh clone would have them: nothing ignored, no left-overs, no forged objects.

git trusts an object by its name when it checks one out. So everything is packed, and all names are computed anew from
the content before a file is written: an object that an agent replaced is missing then.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path, PurePosixPath

from msgspec import Struct, field

from aigon.errors import AigonError, environment
from aigon.files.system_errors import ResourceShortage, explain_git_error
from aigon.git import blind_spots
from aigon.git.commits import write_commit
from aigon.git.listings import SUBMODULE, parse_stage
from aigon.git.trusted import IMPORTED, TrustedGit, format_config
from aigon.process.start import capture_output

BRANCH = "refs/heads/proof"
PACKING = ("--window=0", "--compression=0", "--quiet")
"""The pack is read once, so its size does not matter."""
SMUDGING = {"GIT_LFS_SKIP_DOWNLOAD_ERRORS": "1"}
"""A large file that is not here stays a pointer, as in the workspace; nothing is fetched."""
CONVERTING = (*IMPORTED, "core.repositoryformatversion", "extensions.objectformat")
"""Settings under which git finds the exported files unchanged."""
_SUBMODULE_IN_INDEX = int(SUBMODULE, 8).to_bytes(4)
"""The mode of a submodule as an index holds it: without these bytes it has none."""
WORKERS = ("-c", "checkout.workers=0", "-c", "checkout.thresholdForParallelism=1000")
"""As many processes as cores write files, where so many are to be written that it takes longer than to start them."""


class Export(Struct, frozen=True):
    """The files that were written to `folder`, over an earlier export unless it is `fresh`.

    `missing` are submodules that are checked out in the workspace and whose commit could not be exported.
    """

    folder: Path
    missing: tuple[str, ...] = ()
    fresh: bool = True


class RoomTree(Struct):
    """The folder of an export. Several rooms can show it, one after the other, as what aigon changes there is put back.

    It `holds` the tree of this hash. Files keep their inodes: nothing about them should say how many rooms there were.
    It moves to `spare` if it cannot be written to its folder, which may be in memory.
    """

    folder: Path
    holds: str = ""
    spare: Path | None = None
    undo: list[Callable[[], object]] = field(default_factory=list)

    def write_over(self, files: Mapping[str, bytes | None]) -> None:
        """Give files another content, with the mode that they have; take away those with None. No link is followed."""
        for path, data in files.items():
            file = self.folder / path
            way = [*(self.folder / above for above in reversed(PurePosixPath(path).parents[:-1])), file]
            other = next((each for each in way if each.is_symlink() or (each.is_file() and each != file)), None)
            if data is not None:
                if other:
                    self._set_aside(other)
                self._write(file, data)
            elif other in (None, file) and os.path.lexists(file):
                self._set_aside(file)

    def put_back(self) -> None:
        """Undo what was changed."""
        while self.undo:
            self.undo.pop()()

    def _set_aside(self, place: Path) -> None:
        aside = self.folder.with_name(f"aside-{len(self.undo)}")
        place.rename(aside)
        self.undo.append(partial(aside.rename, place))

    def _write(self, file: Path, data: bytes) -> None:
        if file.exists():
            self.undo.append(partial(file.write_bytes, file.read_bytes()))
            file.write_bytes(data)
            return
        made = [above for above in file.parents if not above.exists()]
        self.undo.extend(above.rmdir for above in reversed(made))
        self.undo.append(file.unlink)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        if data.startswith(b"#!"):
            file.chmod(0o755)


class _Source(Struct, frozen=True):
    """A repository to export from, checked out at `worktree`; git reads `objects`, with `settings` of its own."""

    git: TrustedGit
    worktree: Path
    objects: dict[str, str]
    settings: Mapping[str, str] = field(default_factory=dict)

    def run(
        self,
        *arguments: str,
        stdin: bytes | None = None,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> bytes:
        settings = (word for name, value in self.settings.items() for word in ("-c", f"{name}={value}"))
        argv = (self.git.program, *settings, *arguments)
        whole = {**self.git.env, **self.objects, "GIT_WORK_TREE": str(self.worktree), **(env or {})}
        code, out, err = capture_output(argv, cwd=cwd or self.worktree, env=whole, stdin=stdin)
        if code:
            said = err.decode(errors="replace").strip()
            what = "The files to prove could not be exported"
            raise explain_git_error(what, said, (*self.git.places, cwd or self.worktree)) or environment(
                f"{what}: an object of the repository is missing or damaged",
                where=str(self.worktree),
                hint=f"Run `git fsck --full`. git said: {said or f'exit {code}'}",
            )
        return out

    def find_tree(self, name: str) -> str:
        """Return the tree that a commit has, or that is named. Raises AigonError (exit 7)."""
        return self.run("rev-parse", "--verify", f"{name}^{{tree}}").decode().strip()

    def writing_to(self, objects: Path) -> dict[str, str]:
        """Return variables by which git writes new objects and packs to `objects`, and reads all the others."""
        own, more = self.objects["GIT_OBJECT_DIRECTORY"], self.objects.get("GIT_ALTERNATE_OBJECT_DIRECTORIES", "")
        if os.pathsep in own or own.startswith('"'):  # git reads quotes around a path with a colon
            own = '"{}"'.format(own.replace("\\", "\\\\").replace('"', '\\"'))
        alternates = os.pathsep.join((own, *filter(None, [more])))
        return {"GIT_OBJECT_DIRECTORY": str(objects), "GIT_ALTERNATE_OBJECT_DIRECTORIES": alternates}


def export_tree(git: TrustedGit, tree: str, folder: Path, *, forget: bool = False) -> Export:
    """Write the tree of this hash, or of a commit's, as files into `folder`, which is empty or does not exist.

    It may also hold an earlier export with its repository: then only the files that differ are written, and files that
    neither tree has stay. The folder gets a git directory of one commit, as a clone of depth 1 in CI, for tools that
    ask git: this tree's objects, no other ref, no hook, no remote. With `forget`, the earlier tree's objects go.
    Raises AigonError (exit 7) if an object is missing or damaged.
    """
    names = ("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES")
    source = _Source(git, git.root, {name: git.env[name] for name in names if name in git.env})
    fresh = not (folder / ".git").exists()
    if tree not in git.trees:
        git.trees[tree] = source.find_tree(tree)
    _write(source, git.trees[tree], folder, forget=forget)
    return Export(folder, tuple(_write_submodules(source, folder, "")), fresh)


def _write(source: _Source, tree: str, folder: Path, *, forget: bool = False) -> None:
    """Write one repository's files from objects whose names were just computed anew."""
    own = folder / ".git"
    packs = own / "objects" / "pack"
    if forget:
        shutil.rmtree(own / "objects")
    packs.mkdir(parents=True, exist_ok=True)
    branch, known = own / BRANCH, set(packs.glob("*.pack"))
    before = branch.read_text().strip() if branch.exists() else ""
    packing = ("pack-objects", "--revs", *PACKING, str(packs / "pack"))
    wanted = f"{tree}\n^{before}\n" if before and not forget else f"{tree}\n"
    source.run(*packing, stdin=wanted.encode(), env=source.writing_to(own / "objects"))
    renamed = {"GIT_OBJECT_DIRECTORY": str(own / "objects"), "GIT_ALTERNATE_OBJECT_DIRECTORIES": ""}
    for pack in set(packs.glob("*.pack")) - known:
        pack.with_suffix(".idx").unlink()
        source.run("index-pack", str(pack), env=renamed)
    here = {**renamed, **SMUDGING, "GIT_WORK_TREE": str(folder), "GIT_INDEX_FILE": str(own / "index")}
    source.run(*WORKERS, "read-tree", "--reset" if before else "-m", "-u", tree, env=here)
    if (source.git.directory / "info" / "sparse-checkout").exists():
        _write_beyond_cone(source, folder, here)
    if has_filters(source.git):
        _refuse_damaged(source, folder, here)
    _describe(source, own, write_commit(source.git, tree, "", "aigon: the files to prove\n", str(own / "objects")))


def has_filters(git: TrustedGit) -> bool:
    """Return whether files can be larger than git's objects, as those of Git LFS."""
    return '[filter "lfs"]' in (git.directory / "config").read_text()


def _write_beyond_cone(source: _Source, folder: Path, here: Mapping[str, str]) -> None:
    """Write what a sparse checkout leaves out and the workspace has: an agent may work outside the cone."""
    listed = source.run("ls-files", "-z", env=here, cwd=folder).split(b"\0")
    left_out = {path for path in listed if path and not os.path.lexists(os.path.join(os.fsencode(folder), path))}  # noqa: PTH118
    present = {entry[2:] for entry in source.run("ls-files", "-v", "-z").split(b"\0") if entry.startswith(b"H")}
    if wanted := sorted(left_out & present):
        options = ("--ignore-skip-worktree-bits", "-f", "-z", "--stdin")
        source.run("checkout-index", *options, stdin=b"\0".join(wanted) + b"\0", env=here, cwd=folder)


def _refuse_damaged(source: _Source, folder: Path, here: Mapping[str, str]) -> None:
    """Raise AigonError (exit 7) for a large file that is not what its pointer says, which Git LFS does not check."""
    attribute = {**here, "GIT_LITERAL_PATHSPECS": "0"}
    stage = source.run("ls-files", "--stage", "-z", "--", ":(attr:filter=lfs)", env=attribute, cwd=folder)
    pointers = {
        path: name
        for path, (mode, name) in parse_stage(stage).items()
        if mode.startswith("100") and "\n" not in path and (folder / path).exists()
    }
    named = os.fsencode("".join(f"{path}\n" for path in pointers))
    true = source.run("hash-object", "--stdin-paths", stdin=named, env=here, cwd=folder).decode().split()
    for (path, pointer), name in zip(pointers.items(), true, strict=True):
        if name != pointer:
            raise environment(
                "A large file of the repository is damaged: its content is not what its pointer says",
                where=path,
                hint="Run `git lfs fsck`",
            )


def _describe(source: _Source, own: Path, commit: str) -> None:
    """Write the rest of a git directory: one branch, and the settings by which files and objects correspond."""
    branch = own / BRANCH
    branch.parent.mkdir(parents=True, exist_ok=True)
    branch.write_text(f"{commit}\n")
    (own / "HEAD").write_text(f"ref: {BRANCH}\n")
    settings = {**source.git.settings, **source.settings}
    (own / "config").write_text(format_config({name: settings[name] for name in CONVERTING if name in settings}))
    (own / "info").mkdir(exist_ok=True)
    for name in ("attributes", "sparse-checkout"):
        if (rules := source.git.directory / "info" / name).exists():
            shutil.copyfile(rules, own / "info" / name)


def _write_submodules(source: _Source, folder: Path, prefix: str) -> Iterator[str]:
    """Write every submodule below if possible, and yield those whose commit is missing."""
    index = folder / ".git" / "index"
    if _SUBMODULE_IN_INDEX not in index.read_bytes():
        return
    stage = source.run("ls-files", "--stage", "-z", env={"GIT_INDEX_FILE": str(index)})
    for path, (mode, commit) in parse_stage(stage).items():
        if mode != SUBMODULE:
            continue
        worktree, place = source.worktree / path, folder / path
        git_dir = blind_spots.find_submodule_git_dir(worktree)
        if git_dir is None:
            if worktree.is_dir() and any(worktree.iterdir()):
                yield prefix + path
            continue
        objects = {"GIT_OBJECT_DIRECTORY": str(git_dir / "objects"), "GIT_ALTERNATE_OBJECT_DIRECTORIES": ""}
        settings = {"core.sparsecheckout": "false", "lfs.storage": str(git_dir / "lfs")}
        inner = _Source(source.git, worktree, objects, settings)
        try:
            _write(inner, inner.find_tree(commit), place)
        except ResourceShortage:
            raise
        except AigonError:
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True, exist_ok=True)
            yield prefix + path
        else:
            yield from _write_submodules(inner, place, f"{prefix}{path}/")
