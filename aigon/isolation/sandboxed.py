"""The program that becomes an agent in a sandbox: started as `python -I -S sandboxed.py <plan> <argv...>`.

It replaces itself by the agent, so that signals and the exit code are the agent's own. With a plan that says what is
granted it gives up everything else first, by Landlock, and asks the kernel to end it when aigon is gone.
"""

import _signal as signal  # type: ignore[import-not-found]  # `signal` makes enumerations of it
import marshal
import os
import sys

TYPE_CHECKING = False  # as few modules as can be: `aigon.isolation.entrance` says why
if TYPE_CHECKING:
    from typing import Any

NOT_ENTERED, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127
"""What `docker run` and a shell (POSIX) exit with when they fail themselves."""
PR_SET_PDEATHSIG = 1
"""From <linux/prctl.h>."""
IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGTERM, signal.SIGXFSZ)
"""What this process was made deaf to, or Python ignores; what is ignored would stay so in the agent."""


def main() -> None:
    """Enter the sandbox that the plan describes, and become the agent."""
    plan, argv = marshal.loads(bytes.fromhex(sys.argv[1])), sys.argv[2:]
    sys.path.append(os.path.abspath(f"{__file__}/../../.."))  # noqa: PTH100 - without pathlib
    try:
        if plan:
            _enter(plan)
    except OSError as error:
        _give_up(f"the sandbox could not be entered: {error}", NOT_ENTERED)
    for number in IGNORED:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        _give_up(f"{argv[0]}: {error.strerror}", NOT_FOUND if missing else NOT_EXECUTABLE)


def _enter(plan: "dict[str, Any]") -> None:
    from aigon.isolation.landlock import enter_sandbox
    from aigon.process.syscalls import call

    call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != plan["parent"]:  # it was gone before the kernel was asked
        os._exit(128 + signal.SIGKILL)
    enter_sandbox(plan)


def _give_up(what: str, code: int) -> None:
    sys.stderr.write(f"aigon: {what}\n")
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
