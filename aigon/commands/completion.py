"""`aigon completion`: what a shell needs to complete aigon's commands, and what answers it then."""

import os
import sys
from typing import Any

import click
from click.shell_completion import (
    BashComplete,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    shell_complete,
)

from aigon.cli import COMPLETE_VARIABLE, PROGRAM
from aigon.commands.common import answer, json_option


class _QuietBash(BashComplete):
    """Bash splits a word at `:` and `=`: put `claude:opus` together again, and answer with the part after the colon."""

    source_template = BashComplete.source_template.replace("_complete $1)", "_complete $1 2>/dev/null)")
    _replied = ""
    """What bash keeps of the word that it completes."""

    def get_completion_args(self) -> tuple[list[str], str]:
        arguments, typed = super().get_completion_args()
        words: list[str] = []
        is_split = False
        for word in (*arguments, typed):
            is_split = bool(words) and (word == ":" or words[-1].endswith(":"))
            if is_split:
                words[-1] += word
            elif word != "=" or not words or not words[-1].startswith("--"):
                words.append(word)
        if typed == "=":
            words.append("")
        self._replied = words[-1].rpartition(":")[0] + ":" if is_split else ""
        return words[:-1], words[-1]

    def format_completion(self, item: Any) -> str:
        item.value = item.value.removeprefix(self._replied)
        return super().format_completion(item)


class _QuietFish(FishComplete):
    """Fish splits an answer at every comma: keep those of `claude,codex` and of descriptions."""

    source_template = FishComplete.source_template.replace("%(prog_name)s);", "%(prog_name)s 2>/dev/null);", 1).replace(
        'string split ","', 'string split --max 1 ","'
    )


SHELLS: dict[str, type[ShellComplete]] = {"bash": _QuietBash, "zsh": ZshComplete, "fish": _QuietFish}


@click.command("completion")
@click.argument("shell", type=click.Choice(list(SHELLS)))
@json_option
def command(shell: str, as_json: bool) -> int:
    """Print a script that completes commands, options, features, agents, models and profiles with Tab in SHELL.

    bash: put this line into ~/.bashrc.

    \b
      eval "$(aigon completion bash)"

    zsh: put this line into ~/.zshrc, after compinit.

    \b
      eval "$(aigon completion zsh)"

    fish: run this once.

    \b
      cd ~/.config/fish/completions
      aigon completion fish > aigon.fish
    """
    from aigon.commands.root import root

    script = ShellComplete.source(SHELLS[shell](root, {}, PROGRAM, COMPLETE_VARIABLE))
    answer({"shell": shell, "script": script}, script.rstrip("\n"), as_json)
    return 0


def complete() -> None:
    """Answer a shell that asks what could come next. Nothing but that reaches the prompt, whatever goes wrong."""
    from aigon.commands.root import root

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    try:
        for shell in SHELLS.values():
            add_completion_class(shell)
        shell_complete(root, {}, PROGRAM, COMPLETE_VARIABLE, os.environ[COMPLETE_VARIABLE])
    except Exception:  # outside a repository, a command that does not exist, a file that cannot be read
        return
