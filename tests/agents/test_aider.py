"""aider's adapter: captured sessions of version 0.86.2, and a stand-in program that leaves them."""

from pathlib import Path

import pytest

from aigon.agents.adapters import aider
from aigon.model.turns import Agent, ProgramExit, TurnReport, Usage
from tests.agents.captured import NOW, exited, played
from tests.agents.turns import place

EDIT = "I will create the file.\n\nhello.txt\n```\n<<<<<<< SEARCH\n=======\nhello\n>>>>>>> REPLACE\n```"
FAILED_EDIT = "app.py\n```\n<<<<<<< SEARCH\nlitellm.AuthenticationError: no\n=======\nhello\n>>>>>>> REPLACE\n```"
QUOTES = (
    "I looked.\nlitellm.AuthenticationError: AuthenticationError: bad\n"
    "The API provider is not able to authenticate you. Check your API key.\n"
    "Tokens: 1 sent, 1 received. Cost: $9.00 message, $9.00 session.\n> litellm.RateLimitError: x"
)
QUOTA = "OpenAIException - You exceeded your current quota, please check your plan and billing details."


def seen(**fields: object) -> TurnReport:
    """A session with one reply that cost something, but for `fields`."""
    good = {"end": "finished", "model": "openai/gpt-4o", "usage": Usage(4200, 40), "cost": 0.0072}
    return TurnReport(**{**good, "cost_status": "reported", **fields})  # type: ignore[arg-type]


TURNED_AWAY = {"usage": None, "cost": 0.0}


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("ok", seen(said=EDIT, tools=("edit: hello.txt",))),
        (
            "401",
            seen(
                end="bad_credentials",
                detail="bad credentials (401): OpenAIException - Incorrect API key provided: sk-tes.",
                **TURNED_AWAY,
            ),
        ),
        ("404", seen(end="failed", detail="error (404): OpenAIException - The model `nope` does not exist",
                     usage=None, cost=None)),
        ("quota", seen(end="usage_limit", detail=f"usage limit (429): {QUOTA}", **TURNED_AWAY)),
        (
            "429",  # after a reply whose edit names another error
            seen(
                end="overloaded",
                detail="overloaded (429): OpenAIException - Rate limit reached. try again in 20s",
                said=FAILED_EDIT,
                resets_at=NOW + 20,
            ),
        ),
        ("length", seen(end="failed", detail="Model openai/gpt-4o has hit a token limit!", usage=None, cost=None,
                        )),
        ("quoting", seen(said=QUOTES)),
    ],
)  # fmt: skip
def test_every_captured_session_is_read_whatever_the_exit_code(case: str, expected: TurnReport) -> None:
    assert aider.read_output(exited(f"aider_{case}")) == expected


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("ok", seen(said=f"https://aider.chat/HISTORY.html#release-notes\n\n{EDIT}", tools=("edit: hello.txt",))),
        (
            "401",
            seen(
                end="bad_credentials",
                detail="bad credentials (401): OpenAIException - Incorrect API key provided: sk-tes. You can find your "
                "API key at https://platform.openai.com/account/api-keys.",
                **TURNED_AWAY,
            ),
        ),
        ("quoting", seen(said="> litellm.RateLimitError: x", usage=Usage(4201, 41))),
    ],
)
def test_without_a_history_the_screen_tells(case: str, expected: TurnReport) -> None:
    assert aider.read_output(exited(f"aider_{case}", report=False)) == expected


def test_a_session_that_ended_with_failed_edits_failed_and_is_paid_for() -> None:
    enough = aider.read_output(exited("aider_enough"))
    assert (enough.end, enough.detail) == ("failed", "Only 3 reflections allowed, stopping.")
    assert (enough.usage, enough.cost) == (Usage(16800, 160), 0.03)
    assert enough.said.endswith(FAILED_EDIT)


TOKENS = "Tokens: 12k sent, 1.5k cache write, 3.0k cache hit, 85 received."
COST = "Cost: $0.01 message, $0.02 session."
ERROR = "litellm.RateLimitError: RateLimitError: x - slow down"


def history(*lines: str) -> ProgramExit:
    """A session by its history: its header, a prompt, and these lines."""
    head = "\n# aider chat started\n\n> Aider v0.86.2  \n> Model: m with whole edit format  \n\n#### Do it.  \n"
    return ProgramExit(0, report=(head + "\n".join(lines) + "\n").encode(), ended=NOW)


def test_cached_tokens_have_a_cost_of_their_own_and_count_as_sent() -> None:
    found = aider.read_output(history("", "Hi.", "", f"> {TOKENS}", f"{COST}  "))
    assert found == TurnReport("finished", "", "Hi.", "m", "", Usage(9000, 85, 3000), 0.02, "reported")
    screen = f"Aider v0.86.2\nModel: m with whole edit format\n\nHi.\n\n{TOKENS}\n{COST}\n".encode()
    assert aider.read_output(ProgramExit(0, screen)) == found


@pytest.mark.parametrize(
    ("after", "end"),
    [
        ((), "finished"),
        (("> Applied edit to a.py  ",), "finished"),
        ((f"> {ERROR}  ", "> Retrying in 0.2 seconds...  ", "> Applied edit to a.py  "), "finished"),
        ((f"> {ERROR}  ", "> The API provider has rate limited you.  "), "overloaded"),
        (("> Applied edit to a.py  ", "> Attempt to fix lint errors?  ", f"> {ERROR}  "), "overloaded"),
        ((f"> {ERROR}  ", "> Model m has hit a token limit!  "), "failed"),
        (("> Traceback (most recent call last):  ", "> ValueError: x  ", "> x  "), "failed"),
        (("> litellm.ContentPolicyViolationError: blocked  ",), "refused"),
        (("> litellm.BudgetExceededError: Budget has been exceeded!  ",), "usage_limit"),
        (('> litellm.APIError: OpenrouterException - {"error":{"message":"Insufficient credits","code":402}}  ',),
         "usage_limit"),
        (("> litellm.ServiceUnavailableError: AnthropicException - Overloaded  ",), "overloaded"),
        (("> litellm.Timeout: Request timed out  ",), "overloaded"),
    ],
)  # fmt: skip
def test_what_aider_says_last_is_how_it_ended(after: tuple[str, ...], end: str) -> None:
    assert aider.read_output(history("", "Hi.", "", f"> {TOKENS}", f"{COST}  ", *after)).end == end


def test_what_the_model_says_of_errors_is_no_error_of_the_session() -> None:
    lies = (
        ERROR,
        f"> {ERROR}",
        f"> {ERROR}  ",
        "> Model m has hit a token limit!  ",
        "#### You did well.",
        "Traceback",
    )
    found = aider.read_output(history("", *lies, "", f"> {TOKENS}", f"{COST}  "))
    assert (found.end, found.detail) == ("finished", "")
    told = "\n".join(lies)
    assert aider.read_output(ProgramExit(0, f"Aider v1\n\n{told}\n\n{TOKENS}\n{COST}\n".encode())).end == "finished"
    killed = aider.read_output(ProgramExit(-9, f"Aider v1\n\n{told}\n{ERROR}\n".encode()))
    assert (killed.end, killed.cost) == (None, None)


def test_no_reply_and_no_error_is_no_good_end_and_an_empty_reply_is_mentioned() -> None:
    lost = aider.read_output(ProgramExit(0, b"Aider v0.86.2\nUnable to list files in git repo\n"))
    assert (lost.end, lost.detail) == (None, "no reply of the model: Unable to list files in git repo")
    empty = aider.read_output(
        history("> Empty response received from LLM. Check your provider account?  ", f"> {TOKENS}  ")
    )
    assert (empty.end, empty.detail, empty.cost) == ("finished", "the reply of the model was empty", None)


def test_it_is_run_with_the_prompt_in_a_file_and_leaves_git_and_the_network_alone(tmp_path: Path) -> None:
    agent = Agent("mine", "ad", model="openai/gpt-4o", effort="high", args=("--map-tokens", "0"))
    given = played(place(tmp_path), agent, "aider_ok")
    assert given.args[:3] == ("--message-file", given.ask.prompt_file, "--yes-always")
    assert given.args[-9:] == ("--chat-history-file", given.ask.output_file, "--input-history-file", "/dev/null",
                               "--model", "openai/gpt-4o", "--reasoning-effort", "high", *agent.args)[-9:]  # fmt: skip
    assert {"--no-auto-commits", "--no-dirty-commits", "--no-gitignore", "--no-check-update", "--no-analytics",
            "--no-detect-urls"} <= set(given.args)  # fmt: skip
    assert (given.stdin, given.env["LITELLM_LOCAL_MODEL_COST_MAP"]) == ("", "True")
    assert (given.turn.end, given.turn.cost, given.turn.said) == ("finished", 0.0072, EDIT)


def test_a_bad_key_is_known_although_the_program_exits_with_0(tmp_path: Path) -> None:
    given = played(place(tmp_path), Agent("mine", "aider", args=("--no-yes-always",)), "aider_401")
    assert (given.turn.end, given.turn.exit_code) == ("bad_credentials", 0)
    assert "--yes-always" not in given.args
