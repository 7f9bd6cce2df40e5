"""aigon's own git directory: the repository's objects, and only the configuration that is imported here.

An agent can plant code in git that the next command runs: hooks, filters, diff drivers, fsmonitor. None of it is read
here. What the person's configuration needs is copied before the agent runs; what cannot be copied safely is refused by
name. Never gc, repack, prune, fetch or merge in it: it holds no refs.
"""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from aigon.errors import AigonError, environment
from aigon.files.home import IGNORED_LINES
from aigon.files.system_errors import explain_git_error
from aigon.git.listings import split_listing, split_paths
from aigon.git.person import Checkout, Identity, name_command
from aigon.process.start import capture_beginning, capture_output, start_capture
from aigon.text.patterns import compile_re

_NO_NAME = compile_re(r"[<>\n\0]")
FLUSH = ("-c", "core.fsync=reference", "-c", "core.fsyncMethod=fsync")
"""An iteration commit is flushed once, with the ref that names it; its objects are written out before, as they come.
This is git's `core.fsyncMethod=batch` across the processes that make one commit: a power cut leaves the old ref, or
the new one with everything that it names."""
IMPORTED = (
    "core.autocrlf", "core.eol", "core.filemode", "core.ignorecase", "core.symlinks", "core.precomposeunicode",
    "core.protecthfs", "core.protectntfs", "core.sparsecheckout", "core.sparsecheckoutcone", "core.bigfilethreshold",
    "core.checkstat", "core.trustctime", "core.compression", "core.loosecompression", "index.sparse",
)  # fmt: skip
"""Settings that change what `git add` writes; none of them names a program."""
FIXED = {
    "core.bare": "false",
    "core.excludesfile": "/dev/null",  # else git reads its default file each time; aigon has a copy
    "core.safecrlf": "false",
    "core.fsmonitor": "false",
    "core.hookspath": "/dev/null",
    "core.untrackedcache": "false",
    "core.splitindex": "false",
    "core.commitgraph": "false",  # an agent could have written one that tells another history
    "core.multipackindex": "false",
    "core.fsync": "loose-object",  # besides packs, which git flushes anyway
    "core.fsyncmethod": "writeout-only",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "diff.ignoresubmodules": "dirty",
    "status.submodulesummary": "false",
    "advice.addembeddedrepo": "false",
    "commit.gpgsign": "false",
}


class TrustedGit:
    """Runs git with aigon's own configuration on the person's objects and work tree.

    With `objects` new objects go there, and those of the repository are only read. `trees` are those that are known by
    their own names and by those of commits.
    """

    def __init__(self, checkout: Checkout, directory: Path, objects: Path | None = None) -> None:
        self.root, self.git_dir, self.common_dir = checkout.root, checkout.git_dir, checkout.common_dir
        self.directory = directory
        self.trees: dict[str, str] = {}
        self.program = shutil.which("git") or "git"
        env, theirs = _make_clean_env(checkout.identity()), str(self.common_dir / "objects")
        self._ref_env = {**env, "GIT_DIR": str(self.git_dir)}
        self.env = env | {
            "GIT_DIR": str(directory),
            "GIT_WORK_TREE": str(self.root),
            "GIT_INDEX_FILE": str(directory / "index"),
            "GIT_OBJECT_DIRECTORY": theirs,
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
        }
        if objects:
            objects.mkdir(parents=True, exist_ok=True)
            self.env |= {"GIT_OBJECT_DIRECTORY": str(objects), "GIT_ALTERNATE_OBJECT_DIRECTORIES": theirs}
        self.prepare(checkout)

    def prepare(self, checkout: Checkout) -> None:
        """Write the directory afresh from the person's configuration. Raises AigonError (exit 7), naming a refusal."""
        filters = refuse_unsupported(checkout)
        for name in ("objects", "refs", "info"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        (self.directory / "HEAD").write_text("ref: refs/heads/aigon\n")
        self.settings = _make_settings(checkout, self.directory, filters)
        (self.directory / "config").write_text(format_config(self.settings))
        _copy_rules(checkout, self.directory)

    def keep_out(self, lines: Sequence[str]) -> None:
        """Let `git add` ignore what these lines name, as a .gitignore would; the person's own rules still win."""
        file = self.directory / "info" / "exclude"
        file.write_text("\n".join([*lines, file.read_text()]))

    def run(self, *arguments: str, stdin: bytes | None = None, index: Path | None = None) -> bytes:
        """Run a git command and return what it prints. Raises AigonError (exit 7) with git's words."""
        return self._require(arguments, self.attempt(*arguments, stdin=stdin, index=index))

    @contextmanager
    def running(self, *arguments: str) -> Iterator[None]:
        """Run a git command during the context, and wait for it. Raises AigonError (exit 7) with git's words."""
        finish = self.begin(*arguments)
        try:
            yield
        finally:
            ended = finish()
        self._require(arguments, ended)

    def _require(self, arguments: Sequence[str], ended: tuple[int, bytes, bytes]) -> bytes:
        code, out, err = ended
        if code:
            raise self.make_error(f"git {name_command(arguments)} failed", err.decode(errors="replace").strip(), code)
        return out

    def make_error(self, what: str, said: str, code: int = 1) -> AigonError:
        """Return the error for a git that ended with `code`: in plain words if it lacked space."""
        if lack := explain_git_error(what, said, self.places):
            return lack
        if code < 0:
            how = f"git was killed ({signal.strsignal(-code)})"
            return environment(what, where=str(self.root), hint=f"{how}: run again, after a turn with --resume")
        return environment(what, where=str(self.root), hint=said or f"It exited with {code}")

    @property
    def places(self) -> tuple[Path, ...]:
        objects = Path(self.env["GIT_OBJECT_DIRECTORY"])
        return (objects, self.directory, self.root, self.git_dir, Path(tempfile.gettempdir()))

    def attempt(
        self, *arguments: str, stdin: bytes | None = None, index: Path | None = None
    ) -> tuple[int, bytes, bytes]:
        """Run a git command and return exit code, standard output and standard error."""
        env = self.env if index is None else {**self.env, "GIT_INDEX_FILE": str(index)}
        if stdin is None:
            return start_capture(self._spell(arguments), env)()
        return capture_output((self.program, *arguments), cwd=self.root, env=env, stdin=stdin)

    def begin(self, *arguments: str) -> Callable[[], tuple[int, bytes, bytes]]:
        """Start a git command; return what waits for it and returns the same as `attempt`."""
        return start_capture(self._spell(arguments), self.env)

    def _spell(self, arguments: Sequence[str]) -> tuple[str, ...]:
        return self.program, "-C", str(self.root), *arguments

    def find_ignored(self, paths: Sequence[str], *, even_tracked: bool = False) -> dict[str, tuple[str, str]]:
        """Return those of the paths that git ignores, whether they exist or not, each with the file and its line that
        say so. Raises AigonError (exit 7)."""
        if not paths:
            return {}
        asked = (self.program, "check-ignore", "-z", "-v", "--stdin", *(["--no-index"] if even_tracked else []))
        env = {**self.env, "GIT_LITERAL_PATHSPECS": "0"}  # check-ignore refuses to run with it
        code, out, err = capture_output(asked, cwd=self.root, env=env, stdin=os.fsencode("\0".join(paths)))
        if code not in (0, 1):
            raise self.make_error("git check-ignore failed", err.decode(errors="replace").strip(), code)
        parts = split_paths(out)
        found = zip(parts[3::4], parts[::4], parts[2::4], strict=True)
        return {path: (file, line) for path, file, line in found if not line.startswith("!")}

    def beginning(self, *arguments: str, most: int) -> bytes:
        """Return the first `most` bytes that a git command prints, and end it then."""
        return capture_beginning((self.program, *arguments), cwd=self.root, env=self.env, most=most)

    def sign(self, role: Literal["AUTHOR", "COMMITTER"] = "COMMITTER") -> str:
        """Return who writes a commit now, as objects and logs hold it."""
        name, mail = (_NO_NAME.sub("", self.env[f"GIT_{role}_{part}"]).strip() for part in ("NAME", "EMAIL"))
        return f"{name} <{mail}> {int(time.time())} {time.strftime('%z')}"

    def refs(self, *arguments: str, headless: bool = False) -> tuple[int, str]:
        """Run a command on the person's refs (update-ref, symbolic-ref) without hooks; return exit code and output.

        With `headless` HEAD is not that of the checkout and names no branch: git locks only the ref that is named.
        """
        env = self._ref_env
        if headless:  # a folder that git takes for a worktree; written each time, as others may write there
            folder = self.directory / "headless"
            folder.mkdir(exist_ok=True)
            (folder / "HEAD").write_text("ref: refs/heads/aigon\n")
            (folder / "commondir").write_text(f"{self.common_dir}\n")
            env = {**env, "GIT_DIR": str(folder)}
        fixed = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", *FLUSH)
        code, out, err = capture_output((self.program, *fixed, *arguments), cwd=self.root, env=env)
        return code, (out or err).decode(errors="replace").strip()


def _make_clean_env(identity: Identity) -> dict[str, str]:
    """Return the environment of every git: the person's name, and no configuration but that of a git directory."""
    (author, author_mail), (committer, committer_mail) = identity.author, identity.committer
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "LC_ALL": "C",
        "GIT_AUTHOR_NAME": author,
        "GIT_AUTHOR_EMAIL": author_mail,
        "GIT_COMMITTER_NAME": committer,
        "GIT_COMMITTER_EMAIL": committer_mail,
    }


def refuse_unsupported(checkout: Checkout) -> set[str]:
    """Return the git filters that files go through.

    Raises AigonError (exit 7) for a repository of which aigon could not take faithful snapshots.
    """
    config = checkout.config
    if any(name.startswith("remote.") and name.endswith(".promisor") and is_config_on(config[name]) for name in config):
        raise environment(
            "This is a partial clone, which aigon does not support: objects could be missing offline",
            where=str(checkout.root),
            hint="Make a full clone, or run `git fetch --refetch --no-filter` and unset remote.NAME.promisor",
        )
    if config.get("extensions.refstorage", "files") != "files":
        raise environment("This repository keeps its refs in a reftable, which aigon does not support yet")
    filters = _list_filters(checkout)
    for name in sorted(filters):
        if name != "lfs":
            raise environment(
                f"The files of this repository go through the git filter '{name}', which aigon does not run",
                where=".gitattributes",
                hint=f"An agent could change what it executes. Remove the filter={name} attribute, or open an issue",
            )
        if not shutil.which("git-lfs"):
            raise environment(
                "This repository uses Git LFS, and git-lfs is not installed",
                where=".gitattributes",
                hint="Install git-lfs (https://git-lfs.com), then run `git lfs install`",
            )
    return filters


def is_config_on(value: str) -> bool:
    """Return whether a value is true as git reads booleans."""
    return value.lower() not in ("", "false", "no", "off", "0")


def _list_filters(checkout: Checkout) -> set[str]:
    """Return the filters that attributes name and the person's configuration defines; others do nothing."""
    config = checkout.config
    defined = {name[len("filter.") :].rpartition(".")[0] for name in config if name.startswith("filter.")}
    files = [checkout.root / path for path in _list_tracked(checkout) if f"/{path}".endswith("/.gitattributes")]
    files += [checkout.common_dir / "info" / "attributes", _find_global_file(checkout, "attributes")]
    words = {word for file in files for word in _read_text(file).split() if word.startswith("filter=")}
    named = {word.removeprefix("filter=") for word in words}
    return {name for name in named if name.lower() in defined or name == "lfs"}


def _list_tracked(checkout: Checkout) -> tuple[str, ...]:
    """Return the paths in the index. Raises AigonError (exit 7) if a power cut damaged it."""
    try:
        return split_listing(checkout.list_index())
    except AigonError as error:
        if "index file" not in error.hint and "bad signature" not in error.hint:
            raise
        index = checkout.git_dir / "index"
        hint = f"rm {index} && git reset -q   # rebuilds it; your files stay as they are\n{error.hint}"
        raise environment("git cannot read the index of this checkout", where=str(index), hint=hint) from None


def _read_text(path: Path) -> str:
    return path.read_text(errors="replace") if path.is_file() else ""


def _find_global_file(checkout: Checkout, kind: str) -> Path:
    configured = checkout.config.get(f"core.{kind}file")
    if configured:
        return Path(configured).expanduser()
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path("~/.config").expanduser())
    return Path(base) / "git" / {"excludes": "ignore", "attributes": "attributes"}[kind]


def _make_settings(checkout: Checkout, directory: Path, filters: Collection[str]) -> dict[str, str]:
    config = checkout.config
    settings = {name: config[name] for name in IMPORTED if name in config} | FIXED
    settings |= {"core.repositoryformatversion": "1", "extensions.preciousobjects": "true"}
    settings["core.attributesfile"] = str(directory / "attributes")
    if (object_format := config.get("extensions.objectformat", "sha1")) != "sha1":
        settings["extensions.objectformat"] = object_format
    if "lfs" in filters:  # its documented settings, with the program found before an agent runs
        program = shutil.which("git-lfs") or "git-lfs"
        settings |= {
            "filter.lfs.clean": f"{program} clean -- %f",
            "filter.lfs.smudge": f"{program} smudge -- %f",
            "filter.lfs.process": f"{program} filter-process",
            "filter.lfs.required": "true",
            "lfs.storage": str(checkout.common_dir / "lfs"),
        }
    return settings


def format_config(settings: Mapping[str, str]) -> str:
    """Return settings as git reads them from a file."""
    text = ""
    for name, value in sorted(settings.items()):
        section, _, key = name.rpartition(".")
        head, _, sub = section.partition(".")
        title = f'{head} "{sub}"' if sub else head
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        text += f'[{title}]\n\t{key} = "{escaped}"\n'
    return text


def _copy_rules(checkout: Checkout, directory: Path) -> None:
    """Copy excludes, attributes, sparse patterns and the shallow boundary before an agent can edit them."""
    common, info = checkout.common_dir / "info", directory / "info"
    theirs = (_read_text(_find_global_file(checkout, "excludes")), _read_text(common / "exclude"))
    # No iteration commit holds aigon's runtime files, whatever the project's .gitignore says.
    (info / "exclude").write_text("\n".join([*theirs, *IGNORED_LINES, ""]))
    (info / "attributes").write_text(_read_text(common / "attributes"))
    (directory / "attributes").write_text(_read_text(_find_global_file(checkout, "attributes")))
    for source, target in (
        (checkout.git_dir / "info" / "sparse-checkout", info / "sparse-checkout"),
        (checkout.common_dir / "shallow", directory / "shallow"),
    ):
        target.unlink(missing_ok=True)
        if source.exists():
            shutil.copyfile(source, target)
