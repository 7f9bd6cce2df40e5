"""The program that enters a clean room or a sandbox and becomes the command: `python -I -S launcher.py PLAN ARGV...`.

It runs before anything of the project does and replaces itself, so that signals and the exit code are those of the
command. It imports as little as possible, as every command waits for it: json, pathlib or typing take as long as all
the rest.
"""

import _signal as signal  # type: ignore[import-not-found]  # `signal` makes enumerations of it
import marshal
import os
import sys

NOT_ENTERED, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127
"""What `docker run` and a shell (POSIX) exit with if they fail themselves."""


def main() -> None:
    """Enter what the plan describes, and become the command.

    The plan names the `place` to enter, the mechanism by which to `enter` it ("" for none), the `cwd` to go to ("" to
    stay), and the `signals` to stop ignoring: what is ignored here would stay so in the command.
    """
    plan, argv = marshal.loads(bytes.fromhex(sys.argv[1])), sys.argv[2:]
    # Isolated mode knows no folder of the program's own; this one comes last, so that it hides no standard module.
    sys.path.append(os.path.abspath(f"{__file__}/../../.."))  # noqa: PTH100 - without pathlib
    try:
        _enter(plan)
        if plan["cwd"]:
            os.chdir(plan["cwd"])
            os.environ["PWD"] = plan["cwd"]
    except OSError as error:
        _give_up(f"{plan['place']} could not be entered: {error}", NOT_ENTERED)
    for number in plan["signals"]:
        signal.signal(number, signal.SIG_DFL)
    for name in plan["unset"]:
        os.environ.pop(name, None)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        _give_up(f"{argv[0]}: {error.strerror}", NOT_FOUND if missing else NOT_EXECUTABLE)


def _enter(plan: dict[str, object]) -> None:
    if plan["enter"] == "namespaces":
        from aigon.isolation.namespaces import enter

        enter(plan)
    elif plan["enter"] == "scopes":  # bubblewrap has made the mounts
        from aigon.isolation.namespaces import give_up_rights

        give_up_rights()
    elif plan["enter"] == "landlock":
        from aigon.isolation.landlock import enter_room

        enter_room(plan)
    elif plan["enter"] == "writes":
        from aigon.isolation.landlock import enter_writes

        enter_writes(plan)


def _give_up(what: str, code: int) -> None:
    sys.stderr.write(f"aigon: {what}\n")
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
