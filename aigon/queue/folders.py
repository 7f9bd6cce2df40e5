"""Task files in watched folders: what git holds of them, whether a person brought them, and a feature of each.

No checkout of a person is touched.
"""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from aigon.errors import environment, usage
from aigon.files.home import ensure_home
from aigon.git import objects
from aigon.git.person import Checkout
from aigon.git.trusted import TrustedGit
from aigon.job import bookkeeping
from aigon.job.bookkeeping import Committing
from aigon.job.job import hold_set_up_lock
from aigon.job.spec_locations import choose_next_id
from aigon.journal.events import RunFinished, RunStarted
from aigon.journal.queue import QueueEntry, append_entry
from aigon.journal.records import Origin, Records, candidate_records, find_candidates
from aigon.journal.replay import read_intact_events
from aigon.model.agents import Candidate, RequestedAgent
from aigon.spec import files
from aigon.spec.features import LARGEST, ROOT, Feature, parse_feature_path, slugify
from aigon.text.amounts import format_size
from aigon.text.patterns import compile_re
from aigon.worktrees.setup import create_candidate

_LOG = ("log", "-z", "--no-abbrev", "--no-renames",
        "--format=%H %(trailers:key=Aigon-Run,valueonly)%(trailers:key=Aigon-Feature,valueonly)")  # fmt: skip
"""Commits by name, and what every commit of aigon's own has that holds an agent's work."""
_CHANGE = compile_re(r"\n?:\d+ \d+ [0-9a-f]+ ([0-9a-f]+) \w+")
Say = Callable[[str], None]


class TaskFile(Struct, frozen=True):
    """A Markdown file in a watched folder. `sha` is git's name of its content; `problem` says why it cannot be read."""

    path: str
    sha: str
    problem: str = ""


def resolve_folders(root: Path, folders: Sequence[str]) -> tuple[str, ...]:
    """Return the folders relative to `root`. Raises AigonError: exit 2 for one that is not there or not inside, 7 for
    one that cannot be read.
    """
    found = []
    for name in folders:
        place = Path(os.path.normpath(root / name))
        real = place.resolve()
        if not real.is_relative_to(root.resolve()) or real == root.resolve() or real != place:
            hint = "Name a folder below the root of the repository"
            raise usage("A watched folder has to be inside the repository, and no link", where=name, hint=hint)
        if not real.is_dir():
            raise usage("A watched folder does not exist", where=name, hint=f"mkdir -p {name}, or watch.folders")
        if not os.access(real, os.R_OK | os.X_OK):
            raise environment("A watched folder cannot be read", where=name, hint=f"chmod u+rx {name}")
        found.append(real.relative_to(root.resolve()).as_posix())
    return tuple(dict.fromkeys(found))


def list_committed_files(git: TrustedGit, commit: str, folders: Sequence[str]) -> Iterator[TaskFile]:
    """Yield the Markdown files that a commit has in the folders."""
    out = git.run("ls-tree", "-r", "-l", "-z", "--full-tree", commit, "--", *folders)
    for line in out.split(b"\0")[:-1]:
        head, _, name = line.partition(b"\t")
        mode, kind, sha, size = head.decode().split()
        path = os.fsdecode(name)
        if kind == "blob" and path.endswith(".md"):
            yield TaskFile(path, sha, _find_problem(mode.startswith("100"), int(size)))


def list_files_on_disk(root: Path, folders: Sequence[str]) -> Iterator[TaskFile]:
    """Yield the Markdown files in the folders whether git tracks them or not, with a mark of their content."""
    for folder in folders:
        for place, _, names in os.walk(root / folder):
            for name in sorted(names):
                if name.endswith(".md"):
                    path = Path(place, name)
                    with suppress(OSError):
                        seen = path.lstat()
                        problem = _find_problem(stat.S_ISREG(seen.st_mode), seen.st_size)
                        mark = f"{seen.st_mtime_ns}-{seen.st_size}-{seen.st_ino}"
                        yield TaskFile(path.relative_to(root).as_posix(), mark, problem)


def _find_problem(is_file: bool, size: int) -> str:
    if not is_file:
        return "it is a link or no ordinary file"
    return f"it has {format_size(size)}, a spec at most {format_size(LARGEST)}" if size > LARGEST else ""


def find_agents_files(main: Checkout, home: Path, tasks: Sequence[TaskFile], folders: Sequence[str]) -> set[str]:
    """Return the paths of those whose present content came with the work of an agent, merged by a person or not.

    That is a commit of aigon's own, or one between the base of a run and its end. git lists the commits of the folders
    once for all tasks.
    """
    commits = _find_commits(main, tasks, folders)
    left = {path for path, (_, is_marked) in commits.items() if not is_marked}
    found = commits.keys() - left
    for journal in (each for folder in home.glob("features/*/") for each in Records(folder).journals()) if left else ():
        events, _ = read_intact_events(journal.read_bytes())
        base = next((each.base_commit for each in events if isinstance(each, RunStarted)), "")
        end = next((each.commit for each in reversed(events) if isinstance(each, RunFinished)), "")
        between = set((main.ask("rev-list", f"{base}..{end}") or "").split()) if base and end else ()
        found |= {path for path in left if commits[path][0] in between}
    return found


def _find_commits(main: Checkout, tasks: Sequence[TaskFile], folders: Sequence[str]) -> dict[str, tuple[str, bool]]:
    """Return by path the last commit that brought a task's content, and whether aigon made it.

    A merge is listed without its files: content that only a merge brought is asked for by itself.
    """
    wanted, found = {task.path: task.sha for task in tasks}, dict[str, tuple[str, bool]]()
    fields = iter((main.ask(*_LOG, "--raw", "HEAD", "--", *folders) or "").split("\0"))
    commit = "", False
    for line in fields:
        if change := _CHANGE.match(line):
            path = next(fields, "")
            if path not in found and wanted.get(path) == change[1]:
                found[path] = commit
        elif line.strip():
            commit = _parse_commit(line)
    for path in wanted.keys() - found.keys():
        found[path] = _parse_commit((main.ask(*_LOG, "-1", "HEAD", "--", f":(top,literal){path}") or "").strip("\0"))
    return found


def _parse_commit(line: str) -> tuple[str, bool]:
    name, _, marks = line.strip("\n").partition(" ")
    return name, bool(marks.strip())


def take_up(
    main: Checkout, task: TaskFile, content: bytes, agent: RequestedAgent, begun: QueueEntry, say: Say
) -> Candidate:
    """Return the candidate that builds a task: the one of before, or a new one. `begun` is the step to record.

    The spec is copied to the feature's branch; the task file stays where it is.
    """
    home = ensure_home(main.common_dir)
    with hold_set_up_lock(home, say):
        known = find_candidates(home, begun.feature) if begun.feature else ()
        feature = _choose_feature(main, task, begun)
        label = known[0].label if known else agent.label
        append_entry(home, replace(begun, feature=feature.id, slug=feature.slug, label=label))
        if known:
            return known[0]
        candidate = create_candidate(agent, feature, "worktree", home, [])
        records = candidate_records(home, candidate)
        ref = f"refs/heads/{candidate.branch}"
        commit = main.commit_of(ref)  # a killed watcher may have come so far
        if commit is None:
            commit = _commit_spec(main, task, content, feature)
            main.git("update-ref", ref, commit, "")
        records.set_origin(Origin(main.branch or "", commit))
        records.set_candidate(candidate)
        return candidate


def _choose_feature(main: Checkout, task: TaskFile, begun: QueueEntry) -> Feature:
    if begun.feature:
        return Feature(begun.feature, begun.slug, task.path, "in-progress")
    named = parse_feature_path(task.path)
    slug = named.slug if named else slugify(PurePosixPath(task.path).stem)
    id = named.id if named and task.path.startswith(f"{ROOT}/") else ""
    return Feature(id or choose_next_id(main.root, main.common_dir), slug, task.path, "in-progress")


def _commit_spec(main: Checkout, task: TaskFile, content: bytes, feature: Feature) -> str:
    """Return a commit on HEAD that has the spec in progress; a spec of the backlog is moved."""
    git = bookkeeping.open_own_git(main)
    changes: dict[str, tuple[str, str] | None] = {task.path: None} if task.path.startswith(f"{ROOT}/") else {}
    changes[feature.at("in-progress")] = ("100644", objects.write_blob(git, content))
    tree = objects.write_tree_with(git, str(main.head), changes)
    message = f"docs(feature-{feature.id}): take up {PurePosixPath(task.path).name}\n"
    return git.run("commit-tree", tree, "-p", str(main.head), "-F", "-", stdin=message.encode()).decode().strip()


def update_spec(candidate: Candidate, content: bytes, say: Say) -> None:
    """Commit what a person made of the task file since as the spec in the candidate's worktree."""
    with Checkout.open(Path(candidate.path)) as checkout:
        feature = files.locate_feature(checkout.root, candidate.feature)
        (checkout.root / feature.path).write_bytes(content)
        message = f"docs(feature-{candidate.feature}): update the spec"
        if checkout.list_changed():
            bookkeeping.commit_as_asked(checkout, [feature.path], message, Committing(say, verify=False))
