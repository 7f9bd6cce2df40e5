"""The program that enters a room and becomes the command: started as `python -I -S entrance.py <plan> <argv...>`.

It runs before anything of the project does, replaces itself by the command (so signals and the exit code are the
command's own), and uses nothing but the standard library: as little of it as can be, since every command that is run in
a room waits for it, and json, pathlib or typing alone take as long as all the rest.
"""

import marshal
import os
import sys

NOT_ENTERED = 125
"""The room could not be entered: what `docker run` and `timeout` exit with when they fail themselves."""
NOT_EXECUTABLE, NOT_FOUND = 126, 127
"""What a shell exits with (POSIX)."""
SIGPIPE, SIGXFSZ, SIG_DFL = 13, 25, 0
"""From <signal.h>; Python's module of that name makes enumerations first."""


def main() -> None:
    """Enter the room that the plan describes, go to its folder, and become the command."""
    plan, argv = marshal.loads(bytes.fromhex(sys.argv[1])), sys.argv[2:]
    try:
        _enter(plan)
        os.chdir(plan["cwd"])
    except OSError as error:
        _give_up(f"the clean room could not be entered: {error}", NOT_ENTERED)
    _as_if_started_by_a_shell(plan["cwd"])
    # It keeps bytecode from lying beside the sources. A room has a place of its own for it, which later rooms share.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        _give_up(f"{argv[0]}: {error.strerror}", NOT_FOUND if missing else NOT_EXECUTABLE)


def _enter(plan: dict[str, object]) -> None:
    # Isolated mode knows no folder of the program's own; this one is asked last, so it hides no standard module.
    sys.path.append(os.path.abspath(f"{__file__}/../../.."))  # noqa: PTH100 - without pathlib
    if plan["isolation"] == "none":
        return
    if plan["isolation"] == "namespaces":
        from aigon.isolation.namespaces import enter

        enter(plan)
    else:
        from aigon.isolation.landlock import enter_room

        enter_room(plan)


def _as_if_started_by_a_shell(cwd: str) -> None:
    """Python ignores two signals, and what is ignored stays so in the command."""
    from aigon.process.syscalls import call

    for number in (SIGPIPE, SIGXFSZ):
        call("signal", number, SIG_DFL)
    os.environ["PWD"] = cwd


def _give_up(what: str, code: int) -> None:
    sys.stderr.write(f"aigon: {what}\n")
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
