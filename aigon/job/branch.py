"""Bring the checkout onto the feature's branch, refuse by name what would not be safe, and list work saved aside."""

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from aigon.config.loading import PROJECT_FILE
from aigon.errors import AigonError, environment, usage
from aigon.files.atomic import write_atomic
from aigon.files.checksums import is_unedited_command
from aigon.files.home import IGNORED_LINES, is_runtime
from aigon.files.home import STOP_FILES as STOP_FILES
from aigon.files.system_errors import require_writable
from aigon.git import repository
from aigon.git.blind_spots import refuse_hidden_changes
from aigon.git.commits import FIRST_COMMIT, commit_paths
from aigon.git.locks import remove_dead_lock
from aigon.git.person import Checkout
from aigon.git.trusted import TrustedGit, refuse_unsupported
from aigon.spec.features import ROOT, Feature, is_named, parse_feature_path

MAX_SUBJECTS = 1000
"""Commits whose subjects are compared with a new one."""
SAVED_ASIDE = "refs/aigon/parked/"


def require_sound(checkout: Checkout) -> str:
    """Return the branch that is checked out.

    Raises AigonError (exit 7): no commits, detached HEAD, a merge or the like under way, a git directory that cannot be
    written, no identity to commit as, a kind of repository that is not supported.
    """
    root = str(checkout.root)
    if checkout.head is None:
        raise environment("This repository has no commits yet", where=root, hint=FIRST_COMMIT)
    if doing := checkout.under_way():
        hint = f"git {doing} --continue, or git {doing} --abort" if doing != "bisect" else "git bisect reset"
        raise environment(f"A {doing} is under way in this checkout", where=root, hint=hint)
    branch = checkout.branch
    if branch is None:
        hint = "git switch main (or the branch you want to build on); git switch -c NAME keeps what you have"
        raise environment("HEAD is detached: there is no branch to build on", where=root, hint=hint)
    remove_dead_lock(checkout.git_dir / "index.lock")
    require_committable(checkout)
    return branch


def require_committable(checkout: Checkout) -> None:
    """Raise AigonError (exit 7), before anything is written, if a commit could not be made here."""
    folders = (checkout.git_dir, checkout.common_dir, checkout.common_dir / "objects")
    require_writable("git cannot commit here", *folders)
    checkout.identity()
    refuse_unsupported(checkout)


def _render_cd(checkout: Checkout) -> str:
    """Return what a person types first if they are outside of the work tree that a command is for."""
    inside = Path.cwd().resolve().is_relative_to(checkout.root.resolve())
    return "" if inside else f"cd {shlex.quote(str(checkout.root))} && "


def list_own_changes(
    checkout: Checkout, spec_paths: Sequence[str], nobodys: Sequence[str] = (), *, elsewhere: str = ""
) -> list[str]:
    """Return the uncommitted paths that are aigon's to commit. Raises AigonError (exit 7) for any other.

    `nobodys` are paths (folders end in `/`) that the checks of the last assessment left: they are ignored. `elsewhere`
    is a command for the hint, which makes an agent work in another checkout.
    """
    refuse_hidden_changes(checkout)
    own, others = split_changes(checkout, spec_paths, nobodys)
    if others:
        cd = _render_cd(checkout)
        ways = [f'{cd}git add -A && git commit -m "work in progress"', f"{cd}git stash --include-untracked"]
        raise environment(
            "There are uncommitted changes, which an agent could mix with its own",
            where=preview_paths(others),
            hint="   or   ".join(filter(None, [*ways, elsewhere])),
        )
    return own


def split_changes(
    checkout: Checkout, spec_paths: Sequence[str], nobodys: Sequence[str] = ()
) -> tuple[list[str], list[str]]:
    """Return the uncommitted paths that are aigon's to commit, and all others, untracked ones included."""
    changed = [
        path
        for path in checkout.list_changed()
        if not any(path == place or (place.endswith("/") and path.startswith(place)) for place in nobodys)
    ]
    own = [path for path in changed if path in spec_paths or _is_own(checkout, path)]
    own += [path for path in changed if _is_former_place(checkout, path, spec_paths)]
    return [path for path in own if not is_runtime(path)], [path for path in changed if path not in own]


def preview_paths(paths: Sequence[str]) -> str:
    """Return the first paths, and the number of the others."""
    names = [path if path.isprintable() else repr(path) for path in paths[:5]]
    return ", ".join(names) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")


def _is_former_place(checkout: Checkout, path: str, spec_paths: Sequence[str]) -> bool:
    """Return whether one of the specs was moved from `path` to another stage, and that was not committed any more."""
    gone = path.startswith(f"{ROOT}/") and not os.path.lexists(checkout.root / path)
    return gone and path not in spec_paths and Path(path).name in [Path(spec).name for spec in spec_paths]


def list_uncommitted_setup(checkout: Checkout) -> list[str]:
    """Return the uncommitted paths of aigon's own set-up: its configuration, its lines of .gitignore, its commands."""
    return [path for path in checkout.list_changed() if _is_own(checkout, path) and not is_runtime(path)]


def require_configuration(checkout: Checkout, changed: Sequence[str] | None = None) -> None:
    """Raise AigonError (exit 7) if aigon's configuration is in no commit of the branch that is checked out.

    `changed` are aigon's own uncommitted paths, if the caller knows them.
    A feature's branch would take it along, and it would be missing on every other branch.
    """
    changed = checkout.list_changed() if changed is None else changed
    if PROJECT_FILE in changed and checkout.ask("cat-file", "-e", f"HEAD:{PROJECT_FILE}") is None:
        what = f"aigon's configuration is not committed on {checkout.branch}, so other branches would lack it"
        raise environment(what, where=PROJECT_FILE, hint="aigon init --commit")
    if (checkout.root / PROJECT_FILE).exists() or checkout.ask("check-ignore", "-q", PROJECT_FILE) is not None:
        return
    others = repository.list_feature_branches(checkout.common_dir)
    if found := list(repository.read_branch_files(checkout.root, [(name, PROJECT_FILE) for name in others])):
        name, _ = found[-1]
        raise environment(
            f"aigon's configuration is on {name} alone, and not on {checkout.branch}",
            where=PROJECT_FILE,
            hint=f"{_render_cd(checkout)}git checkout {name} -- .aigon && aigon init --commit",
        )


def _is_own(checkout: Checkout, path: str) -> bool:
    file = checkout.root / path
    if path == ".gitignore":
        before = checkout.ask("show", "HEAD:.gitignore") or ""
        return file.is_file() and has_only_own_lines(before, file.read_text(errors="replace"))
    return path.startswith(".aigon/") or is_runtime(path) or is_own_command(file)


def is_own_command(file: Path) -> bool:
    """Return whether the file is a command for an agent that `aigon init` wrote, not edited since."""
    return file.is_file() and not file.is_symlink() and is_unedited_command(file.name, file.read_bytes())


def has_only_own_lines(before: str, after: str) -> bool:
    """Return whether two versions of .gitignore differ by nothing but aigon's lines."""
    differing = set(before.splitlines()) ^ set(after.splitlines())
    return all(line in IGNORED_LINES or not line.strip() or line.startswith("# aigon") for line in differing)


def enter_branch(checkout: Checkout, branch: str, *, exists: bool = True) -> None:
    """Check out `branch`, which is made at HEAD unless it `exists`. Raises AigonError (exit 7)."""
    if checkout.branch == branch:
        return
    if other := checkout.checked_out_elsewhere(branch):
        hint = f"Run aigon there (cd {other}), or remove that worktree: git worktree remove {other}"
        raise environment(f"The branch {branch} is checked out elsewhere", where=other, hint=hint)
    try:
        checkout.switch(branch, create=not exists)
    except AigonError as error:
        raise environment(f"git could not switch to {branch}", where=branch, hint=error.hint) from None


@contextmanager
def restore_branch_on_error(checkout: Checkout, before: str) -> Iterator[None]:
    """Check out the branch `before` again if something goes wrong in here."""
    try:
        yield
    except BaseException:
        if checkout.branch != before and not checkout.list_changed():
            checkout.switch(before)
        raise


def find_branch(checkout: Checkout, wanted: str) -> str | None:
    """Return the one branch of a feature, by its ID (padded or not), slug, title, name or the path of its spec."""
    path = wanted.removeprefix("./")
    given = parse_feature_path(path) if path.startswith(f"{ROOT}/") else None
    names = [
        name
        for name in repository.list_feature_branches(checkout.common_dir)
        if (feature := parse_feature_path(f"/{name}.md"))
        and (is_named(feature, wanted) or (given and given.slug == feature.slug and given.id in ("", feature.id)))
    ]
    return names[0] if len(names) == 1 else None


def commit_own_paths(trusted: TrustedGit, feature: Feature, paths: Sequence[str]) -> str | None:
    """Commit aigon's own uncommitted paths. Return the commit, or None if there were none."""
    return commit_paths(trusted, paths, render_own_message(trusted, feature, paths)) if paths else None


def render_own_message(trusted: TrustedGit, feature: Feature, paths: Sequence[str]) -> str:
    """Return the message for a commit of aigon's own paths. A subject that exists already gets a number."""
    _, head = trusted.refs("rev-parse", "HEAD")
    if feature.path not in paths:
        what = "update aigon's configuration"
    elif trusted.attempt("cat-file", "-e", f"{head}:{feature.path}")[0]:
        what = f"start feature {feature.name_for_people}"
    else:
        what = "update the spec"
    subject = f"docs(feature-{feature.name_for_people}): {what}"
    log = trusted.run("log", "--format=%s", f"--max-count={MAX_SUBJECTS}", head)
    taken = log.decode(errors="replace").splitlines()
    numbered = (f"{subject} ({number})" for number in range(2, len(taken) + 3))
    return f"{subject if subject not in taken else next(each for each in numbered if each not in taken)}\n"


def exclude_from_git(checkout: Checkout, lines: Sequence[str], whose: str) -> None:
    """Let this clone's git ignore what these lines name, under a comment that says `whose` they are.

    The project's .gitignore is not touched, so what an agent does to that does not matter.
    """
    file = checkout.common_dir / "info" / "exclude"
    text = file.read_text(errors="surrogateescape") if file.exists() else ""
    known = {line.strip() for line in text.splitlines()}
    if missing := [line for line in lines if line not in known]:
        file.parent.mkdir(exist_ok=True)
        block = "\n".join([f"# {whose}", *missing, ""])
        text += "" if not text or text.endswith("\n") else "\n"
        write_atomic(file.resolve(), f"{text}{block}".encode(errors="surrogateescape"))  # it is a person's


def ignore_runtime_files(checkout: Checkout) -> None:
    """Keep aigon's runtime files out of `git status`."""
    exclude_from_git(checkout, IGNORED_LINES, "aigon's runtime files")


def list_saved_work(checkout: Checkout) -> list[dict[str, str]]:
    """Return ref, commit, time and subject of everything saved aside, oldest first."""
    fields = "%(refname)%00%(objectname)%00%(creatordate:iso-strict)%00%(subject)"
    out = checkout.git("for-each-ref", "--sort=creatordate", f"--format={fields}", SAVED_ASIDE)
    names = ("ref", "commit", "when", "subject")
    return [dict(zip(names, line.split("\0"), strict=True)) for line in out.splitlines() if line]


def restore_saved_work(checkout: Checkout, wanted: str) -> str:
    """Make a branch at a commit that was saved aside; nothing else changes. Raises AigonError (exit 2) if unknown."""
    ref = wanted if wanted.startswith(SAVED_ASIDE) else SAVED_ASIDE + wanted
    commit = checkout.commit_of(ref) if wanted else None
    if commit is None:
        raise usage(f"Nothing is saved aside as '{wanted}'", where=SAVED_ASIDE, hint="aigon parked lists what there is")
    name = "parked-" + ref.removeprefix(SAVED_ASIDE).replace("/", "-")
    if checkout.commit_of(f"refs/heads/{name}") is None:
        checkout.git("branch", name, commit)
    return name
