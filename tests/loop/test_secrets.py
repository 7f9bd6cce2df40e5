"""Secrets in whole runs: who sees them, where they are written, and what becomes of those in files."""

import base64
import json
import subprocess
from collections.abc import Iterator

import pytest

from tests.lab import BRANCH, DONE_WHEN, Lab
from tests.loop.processes import LOOP

VALUE = "Correct&Horse-9-Battery'Staple"
TOKEN = "ghp_" + "q7Zt2LmX9vKc4RbW8sNd3HfY6pGj1TaE5uQo"
ENV = {"DEPLOY_TOKEN": VALUE}


def forms() -> Iterator[tuple[str, bytes]]:
    """Ways in which either secret may be told, and what of it must be nowhere."""
    for name, secret in (("value", VALUE), ("token", TOKEN)):
        yield name, secret.encode()
        for before in ("", ":", "x:"):
            text = base64.b64encode(f"{before}{secret}".encode()).decode()
            yield f"{name} in base64 behind {before!r}", text[4:-4].encode()


def told() -> str:
    """All of it, a line each, as an agent or a check could print it."""
    whole = [VALUE, TOKEN]
    whole += [base64.b64encode(f"{b}{s}".encode()).decode() for s in (VALUE, TOKEN) for b in ("", ":", "x:")]
    return "\n".join(whole) + "\n"


def everything(lab: Lab) -> dict[str, bytes]:
    """Every file of aigon's own, and every object of git's, reachable or not."""
    places = [lab.path(".aigon"), lab.home / "state", lab.path(".git/aigon")]
    found = {str(file): file.read_bytes() for place in places for file in place.rglob("*") if file.is_file()}
    batch = ["git", "cat-file", "--batch-all-objects", "--batch", "--buffer"]
    return found | {"git": subprocess.run(batch, cwd=lab.root, env=lab.env, capture_output=True, check=True).stdout}


def leaked(lab: Lab, *said: str) -> list[str]:
    """Where which form of a secret is."""
    places = everything(lab) | {"said": "".join(said).encode()}
    return [f"{form} in {place}" for place, data in places.items() for form, secret in forms() if secret in data]


WRITES_REPORT = """
import os, pathlib, sys
from xml.sax.saxutils import escape, quoteattr

text = pathlib.Path(os.environ["HOME"], "told").read_text()
failed = "" if os.path.exists("done.txt") else f"<failure message={quoteattr(text)}>{escape(text)}</failure>"
case = f"<testcase classname='a' name={quoteattr('test ' + text)}>{failed}</testcase>"
count = 0 if os.path.exists("done.txt") else 1
pathlib.Path(sys.argv[1]).write_text(f"<testsuite tests='1' failures='{count}'>{case}</testsuite>")
"""
TOLD_BY = {"turn_ended", "check_finished", "criterion_judged", "iteration_finished", "hook_ran", "run_finished"}


def test_no_form_of_a_secret_that_is_told_anywhere_is_written_down(lab: Lab) -> None:
    lab.config(proof="in-place")
    (lab.home / "told").write_text(told())
    one_line = "$(tr '\\n' ' ' < \"$HOME/told\")"
    xml = lab.home / "report.py"
    xml.write_text(WRITES_REPORT)
    tests = f'python3 {xml} {{report}}; cat "$HOME/told"; test -f done.txt'
    lab.config(checks={"tests": {"command": tests, "role": "tests", "parser": "junit"}})
    judge = lab.home / "judge"
    judge.write_text(
        "#!/usr/bin/env python3\nimport json, os, pathlib, sys\ncase = json.load(sys.stdin)\n"
        "text = pathlib.Path(os.environ['HOME'], 'told').read_text()\nprint(text, file=sys.stderr)\n"
        "verdict = {'criterion': 2, 'status': 'unmet', 'reason': text, 'missing': text, 'quotes': []}\n"
        "print(json.dumps({'verdicts': [verdict]}))\n"
    )
    judge.chmod(0o755)
    lab.config(judge={"backend": "command", "command": [str(judge)]})
    says = 'cat "$HOME/told"; cat "$HOME/told" >&2'
    lab.config(hooks={"after_agent": {"command": says}, "after_iteration": {"command": f"cat; {says}; exit 1"}})
    lab.config(notify=[{"command": f"{says}; exit 1"}])
    lab.spec(f"it is done <!-- verify: {says}; {DONE_WHEN} -->", "it reads well <!-- judge -->")
    leaves = 'cp "$HOME/told" "$(dirname "$AIGON_PROMPT_FILE")/agent-output.json"'
    commits = f'echo x > own.txt; git add own.txt; git commit -qm "own: {one_line}"'
    last = f'printf \'{{"end": "refused", "detail": "%s", "model": "m %s"}}\\n\' "{one_line}" "{one_line}"'
    lab.agent(f'{says}; {leaves}; if [ "$AIGON_ITERATION" = 1 ]; then {commits}; {last}; else touch done.txt; fi')
    ran = lab.aigon(*LOOP, "--json", "--max-iterations", "3", env=ENV)
    assert ran.code in (3, 4), ran.out + ran.err
    assert {each["event"] for each in ran.events if "[redacted]" in json.dumps(each)} >= TOLD_BY
    assert any(each["event"] == "spent" for each in ran.events), "the judge was asked"
    assert "[redacted]" in lab.git("log", "-1", "-p", BRANCH) + lab.git("log", "-p", BRANCH)
    lab.git("reflog", "expire", "--expire=now", "--all")  # the agent's own commits stay there, as SECURITY.md says
    lab.git("-c", "gc.pruneExpire=now", "prune")
    report = lab.aigon("report", "42", env=ENV)
    assert leaked(lab, ran.out, ran.err, report.out) == []


SEES = 'env | sed -n "s/=.*//p" | sort > "$HOME/seen-$AIGON_ITERATION"; touch done.txt'
KEYS = {"DEPLOY_TOKEN": VALUE, "OPENAI_API_KEY": "o" * 20, "DB_PASSWORD": "d" * 20, "PLAIN": "p"}


def test_an_agent_sees_no_credential_but_those_let_through_and_their_names_are_said(lab: Lab) -> None:
    lab.config(proof="in-place", env={"pass": ["DB_PASSWORD"]})
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent(SEES)
    lab.config(agents={"mine": {"command": [str(lab.home / "mine-agent")], "pass": ["OPENAI_API_KEY"]}})
    lab.config(hooks={"after_agent": {"command": 'env > "$HOME/hook"', "pass": ["DEPLOY_TOKEN"]}})
    ran = lab.aigon(*LOOP, "--json", env=KEYS)
    assert ran.code == 0, ran.out + ran.err
    seen = (lab.home / "seen-1").read_text().split()
    assert {"OPENAI_API_KEY", "DB_PASSWORD", "PLAIN"} <= {*seen} and "DEPLOY_TOKEN" not in seen
    hook = (lab.home / "hook").read_text()
    assert f"DEPLOY_TOKEN={VALUE}" in hook and "OPENAI_API_KEY" not in hook
    [kept] = [each["text"] for each in ran.events if each["event"] == "notice" and "does not see" in each["text"]]
    assert kept.startswith("mine does not see DEPLOY_TOKEN; a hook does not see OPENAI_API_KEY. ")
    assert VALUE not in ran.out and "env.pass" in kept


def test_an_agent_that_stands_in_gets_its_own_and_not_those_of_the_other(lab: Lab) -> None:
    lab.config(proof="in-place")
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent('env > "$HOME/first"; echo \'{"end": "usage_limit"}\'; exit 1', name="first")
    lab.agent('env > "$HOME/second"; touch done.txt', name="second")
    agents = {
        name: {"command": [str(lab.home / f"{name}-agent")], "pass": [key]}
        for name, key in (("first", "OPENAI_API_KEY"), ("second", "DEPLOY_TOKEN"))
    }
    lab.config(agents=agents, defaultAgent="first", fallback=["second"])
    ran = lab.aigon(*LOOP, env=KEYS)
    assert ran.code == 0, ran.out + ran.err
    first, second = (lab.home / "first").read_text(), (lab.home / "second").read_text()
    assert ("OPENAI_API_KEY=" in first, "DEPLOY_TOKEN=" in first) == (True, False)
    assert ("OPENAI_API_KEY=" in second, "DEPLOY_TOKEN=" in second) == (False, True)


def committed(lab: Lab) -> str:
    """All that the branch and what is parked holds: names, messages, contents."""
    named = lab.git("rev-list", "--objects", BRANCH, "--glob=refs/aigon").splitlines()
    objects = "\n".join(line.split()[0] for line in named).encode()
    held = subprocess.run(
        ["git", "cat-file", "--batch"], cwd=lab.root, env=lab.env, input=objects, capture_output=True, check=True
    ).stdout
    return "\n".join(named) + held.replace(b"\0", b"").decode("latin-1")


SNEAKS = {
    "forced": f"echo 'A={TOKEN}' > .env; git add -f .env; git commit -qm one",
    "forced in an ignored folder": f"echo build/ > .gitignore; mkdir build; echo {TOKEN} > build/x; git add -f build/x",
    "renamed": f"echo {TOKEN} > .env; git add -f .env; git commit -qm one; git mv .env plain.txt; git commit -qm two",
    "behind three megabytes": f"head -c 3000000 /dev/zero | tr '\\0' a > big; echo ' {TOKEN}' >> big",
    "in UTF-16": f"printf '{TOKEN}' | iconv -t UTF-16 > wide.txt",
    "in UTF-16 without a mark": f"printf 'key = {TOKEN}' | iconv -t UTF-16LE > wide.txt",
    "in a message": f"echo x > own; git add own; git commit -qm 'uses {TOKEN}'",
    "in a name": f"echo x > {TOKEN}.txt",
    "under a name that is no text": f"printf '{TOKEN}' > $(printf 'odd-\\377')",
    "a value without a shape": "printf 'x = \"Correct-9-%s\"' 'Horse-Battery-Staple' > settings.py",
    "a value in base64": "printf 'xCorrect-9-%s' 'Horse-Battery-Staple' | base64 > coded",
    "a value in a name": "mkdir Correct-9-Horse-Battery-Staple; echo x > Correct-9-Horse-Battery-Staple/own",
    "as the name of an author": f"echo x > own; git add own; git commit -qm x --author '{TOKEN} <a@b>'",
    "a key": "printf -- '-----BEGIN %s KEY-----\\nMIIEFAKEFAKEFAKEFAKE\\n' 'RSA PRIVATE' > deploy.pem",
    "exchanged while checks run": f"echo fine > a.txt; echo {TOKEN} > b.txt; touch swap",
}
HELD = (TOKEN, "Correct-9-Horse-Battery-Staple", "NvcnJlY3QtOS1Ib3JzZS1CYXR0ZXJ5LVN0YXBsZ", "MIIEFAKEFAKEFAKE")


QUICK = ("forced", "in UTF-16", "in a message", "in a name", "a value without a shape", "exchanged while checks run")


@pytest.mark.parametrize("how", [pytest.param(how, marks=() if how in QUICK else pytest.mark.slow) for how in SNEAKS])
def test_a_secret_gets_into_no_commit(lab: Lab, how: str) -> None:
    lab.config(proof="in-place")
    lab.spec(f"it is done <!-- verify: test ! -f swap || echo fine > b.txt; {DONE_WHEN} -->")
    (lab.home / "sneak").write_text(SNEAKS[how] + "\n")
    lab.agent('. "$HOME/sneak"; touch done.txt')
    ran = lab.aigon(*LOOP, "--max-iterations", "1", env={"SERVICE_PASSWORD": HELD[1]})
    assert ran.code in (0, 3), ran.out + ran.err
    found = committed(lab)
    assert "done.txt" in found and not [secret for secret in HELD if secret in found]
    assert TOKEN not in ran.out + ran.err


def test_a_person_can_allow_a_path_and_an_agent_cannot(lab: Lab) -> None:
    lab.config(proof="in-place", secrets={"allow": ["fixtures/**"]})
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    allows = json.dumps({**json.loads(lab.read(".aigon/config.json")), "secrets": {"allow": ["**"]}})
    lab.agent(
        f"mkdir -p fixtures; echo {TOKEN} > fixtures/key; echo {TOKEN} > fixtures/.env; echo {TOKEN} > other\n"
        f"echo '{allows}' > .aigon/config.json; touch done.txt"
    )
    ran = lab.aigon(*LOOP, "--max-iterations", "2", env=KEYS)
    assert ran.code == 3, ran.out + ran.err
    held = lab.git("ls-tree", "-r", "--name-only", BRANCH).splitlines()
    assert {"fixtures/key", "fixtures/.env"} <= {*held} and "other" not in held
    assert "secrets.allow" in ran.out + ran.err
