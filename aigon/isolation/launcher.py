"""The program that enters a clean room or a sandbox and becomes the command.

    python -I -S launcher.py NAMESPACES PLAN ARGV...
    python -I -S launcher.py serve SOCKET                forks itself for every request (`aigon.process.start`)

The fork goes on as if it had been started for the request, in its namespaces.

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
SIGNALS = (1, 2, 3, 13, 15, 25)
"""SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM and SIGXFSZ: what is ignored here would stay so in the command."""


def main() -> None:
    """Enter what the plan describes, and become the command.

    The plan names the `place` to enter, the mechanism by which to `enter` it ("" for none), the `cwd` to go to, and
    variables to `unset`.
    """
    # Isolated mode knows no folder of the program's own; this one comes last, so that it hides no standard module.
    sys.path.append(os.path.abspath(f"{__file__}/../../.."))  # noqa: PTH100 - without pathlib
    is_fork = sys.argv[1] == "serve"
    words, env, folder = _serve(int(sys.argv[2])) if is_fork else (sys.argv[1:], dict(os.environ), "")
    plan, argv = marshal.loads(bytes.fromhex(words[1])), words[2:]
    try:
        if folder:
            os.chdir(folder)
        _enter(plan, is_inside=is_fork)
        if "cwd" in plan:
            os.chdir(plan["cwd"])
            env["PWD"] = plan["cwd"]
    except OSError as error:
        _give_up(f"{plan.get('place', 'the sandbox')} could not be entered: {error}", NOT_ENTERED)
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    for name in plan.get("unset", ()):
        env.pop(name, None)
    try:
        os.execvpe(argv[0], argv, env)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        _give_up(f"{argv[0]}: {error.strerror}", NOT_FOUND if missing else NOT_EXECUTABLE)


def _serve(number: int) -> "tuple[list[str], dict[str, str], str]":
    """Fork for every request into the namespaces that it names; return in the fork what it says: what to run, with
    which environment, and where to start.

    This process ends once its requesters are gone.
    """
    import _socket

    from aigon.isolation.namespaces import fork_into

    connection, size = _socket.socket(fileno=number), 4
    space = _socket.CMSG_SPACE(4 * size)
    while True:
        namespaces, received, _, _ = connection.recvmsg(size, space)
        if not namespaces:
            os._exit(0)
        data = received[0][2]
        asked, *streams = (int.from_bytes(data[at : at + size], sys.byteorder) for at in range(0, len(data), size))
        ready, leading = os.pipe()
        try:
            pid = fork_into(int.from_bytes(namespaces, "little"), beside=True)
        except OSError:  # started by its command line the launcher says why
            pid = -1
        if not pid:
            connection.close()
            os.setsid()
            for descriptor in (ready, leading):
                os.close(descriptor)
            return _take_request(asked, streams)
        for descriptor in (asked, *streams, leading):
            os.close(descriptor)
        os.read(ready, 1)  # whoever gets the number may signal the group
        os.close(ready)
        connection.send(max(0, pid).to_bytes(size, "little"))


def _take_request(asked: int, streams: "list[int]") -> "tuple[list[str], dict[str, str], str]":
    """Become the process that a request describes; end if it does not come whole."""
    with open(asked, "rb") as file:
        try:
            words, env, folder = marshal.loads(file.read())
        except (EOFError, ValueError, TypeError):  # who asked is gone, or has given up
            os._exit(NOT_ENTERED)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    return words, env, folder


def _enter(plan: dict[str, object], *, is_inside: bool) -> None:
    if plan["enter"] == "namespaces":
        from aigon.isolation.namespaces import enter

        enter(plan, is_inside=is_inside)
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
