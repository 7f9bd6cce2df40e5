"""The program that enters a clean room or a sandbox and becomes the command.

    python -I -S launcher.py NAMESPACES PLAN ARGV...
    python -I -S launcher.py serve SOCKET                forks itself for every request (`aigon.process.spawner`)

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
RELEASED = b"\xff\xff\xff\xff"
"""In place of namespaces: what comes with it is only to be closed (`aigon.process.spawner`)."""
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
    asked, streams = _serve(int(sys.argv[2])) if is_fork else (-1, [])
    words, env, folder = _take_request(asked, streams) if is_fork else (sys.argv[1:], dict(os.environ), "")
    plan, argv = marshal.loads(bytes.fromhex(words[1])), words[2:]
    try:
        if folder:
            os.chdir(folder)
        _enter(plan, is_inside=is_fork)
        if is_fork and not streams:
            argv, env = _await_start(asked, plan.get("held", []))
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


def _serve(number: int) -> "tuple[int, list[int]]":
    """Fork for every request into the namespaces that it names; return in the fork where it reads what to run, and its
    standard streams: none if it only prepares for that.

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
        asked, *streams = _list_descriptors(received[0][2])
        if namespaces == RELEASED:
            for descriptor in (asked, *streams):
                os.close(descriptor)
            continue
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
            return asked, streams
        for descriptor in (asked, *streams, leading):
            os.close(descriptor)
        os.read(ready, 1)  # whoever gets the number may signal the group
        os.close(ready)
        connection.send(max(0, pid).to_bytes(size, "little"))


def _list_descriptors(data: bytes) -> "list[int]":
    return [int.from_bytes(data[at : at + 4], sys.byteorder) for at in range(0, len(data), 4)]


def _take_request(asked: int, streams: "list[int]") -> "tuple[list[str], dict[str, str], str]":
    """Become the process that a request describes, and return what to run, with which environment, and where to start.

    End if it does not come whole. What only prepares keeps `asked` open, and learns the rest there.
    """
    try:
        if not streams:
            size = int.from_bytes(_read_whole(asked, 4), "little")
            return marshal.loads(_read_whole(asked, size)), {}, ""
        with open(asked, "rb") as file:
            words, env, folder = marshal.loads(file.read())
    except (EOFError, ValueError, TypeError):  # who asked is gone, or has given up
        os._exit(NOT_ENTERED)
    _take_streams(streams)
    return words, env, folder


def _read_whole(descriptor: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        if not (piece := os.read(descriptor, size - len(data))):
            raise EOFError
        data += piece
    return data


def _take_streams(streams: "list[int]") -> None:
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)


def _await_start(channel: int, held: "list[int]") -> "tuple[list[str], dict[str, str]]":
    """Say that all is prepared, and wait for what to run and with which environment; end if nobody can say it.

    Hand over the mount namespaces that are `held`, and this process's own.
    """
    import _socket

    connection = _socket.socket(fileno=channel)
    held = [*held, os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)]
    handed = b"".join(descriptor.to_bytes(4, sys.byteorder) for descriptor in held)
    connection.sendmsg([b"!"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, handed)])
    for descriptor in held:
        os.close(descriptor)
    _, received, _, _ = connection.recvmsg(1, _socket.CMSG_SPACE(12))
    if not received:
        os._exit(0)
    streams = _list_descriptors(received[0][2])
    request = b""
    while piece := connection.recv(1 << 16):
        request += piece
    connection.close()
    try:
        argv, env = marshal.loads(request)
    except (EOFError, ValueError, TypeError):
        os._exit(NOT_ENTERED)
    _take_streams(streams)
    return argv, env


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
