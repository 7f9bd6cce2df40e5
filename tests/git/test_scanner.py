"""A kept scanner is asked by its documented interface; without one, or when it fails, nothing else changes."""

import json
from pathlib import Path

import pytest

from aigon.git.secret_files import LeakPolicy, SecretScanner, find_scanner
from tests.lab import BRANCH, DONE_WHEN, Lab
from tests.loop.processes import LOOP

FAKE = """#!/usr/bin/env python3
# Like `gitleaks dir PATH --report-format json --report-path FILE --exit-code 0`: finds `hush-` and six digits.
import json, os, pathlib, re, sys
with open(os.path.join({home!r}, "asked"), "a") as asked:
    print(json.dumps(sys.argv[1:]), file=asked)
given = dict(zip(sys.argv[2:], sys.argv[3:]))
assert sys.argv[1:3] == ["dir", "."] and given["--report-format"] == "json" and given["--exit-code"] == "0"
found = []
for file in sorted(pathlib.Path(".").rglob("*")):
    for number, line in enumerate(file.read_text(errors="replace").splitlines() if file.is_file() else [], 1):
        for match in re.finditer("hush-[0-9]{{6}}", line):
            found.append({{"RuleID": "hush", "Description": "A hush key", "StartLine": number, "EndLine": number,
                          "Match": line, "Secret": match[0], "File": str(file), "Entropy": 3.1, "Fingerprint": "x"}})
pathlib.Path(given["--report-path"]).write_text(json.dumps(found))
"""
NOBODY = LeakPolicy(lambda _: False, lambda _: False, lambda path: path == "allowed.txt")


def fake(folder: Path, script: str = FAKE, name: str = "gitleaks") -> str:
    """A scanner on a PATH of its own; the program."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(script.format(home=str(folder)) if script is FAKE else script)
    program.chmod(0o755)
    return str(program)


def test_what_it_finds_counts_unless_the_base_has_it_or_a_person_allows_it(tmp_path: Path) -> None:
    scanner = SecretScanner(fake(tmp_path / "bin"), {"PATH": "/usr/bin:/bin"}, b"[extend]\nuseDefault = true\n")
    files = [
        ("src/a.py", b"x\nkey = 'hush-123456'\n"), ("allowed.txt", b"hush-123456"), ("../b", b"hush-654321"),
        ("fine.py", b"hush"), (".gitleaksignore", b"src/a.py:hush:2"), ("odd\n\udcff", b"hush-111111"),
    ]  # fmt: skip
    leaks = scanner.leaks(files, NOBODY)
    assert [(each.path, each.line) for each in leaks] == [("src/a.py", 2), ("../b", 1), ("odd\n\udcff", 1)]
    assert leaks[0].why == "gitleaks found hush (A hush key)" and "123456" not in leaks[0].sentence
    held = LeakPolicy(lambda _: False, lambda value: value == b"hush-123456", lambda _: False)
    assert [each.path for each in scanner.leaks(files, held)] == ["../b", "odd\n\udcff"]
    [words, _] = [json.loads(line) for line in (tmp_path / "bin/asked").read_text().splitlines()]
    assert "--config" in words and "--ignore-gitleaks-allow" in words


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ('#!/bin/sh\necho \'Error: unknown command "dir" for "gitleaks"\'; exit 1\n', "unknown command"),
        ("#!/bin/sh\nexit 0\n", "No such file"),
        ('#!/bin/sh\necho \'{"a": 1}\' > "$6"; exit 0\n', "not in the form that is known"),
        ("no program", "Exec format error"),
    ],
)
def test_one_that_fails_is_given_up_and_that_is_said_once(tmp_path: Path, script: str, why: str) -> None:
    scanner = SecretScanner(fake(tmp_path / "bin", script), {"PATH": "/usr/bin:/bin"})
    assert scanner.leaks([("a", b"hush-123456")], NOBODY) == ()
    [said] = scanner.take_troubles()
    assert said.startswith("gitleaks is no longer asked; aigon keeps looking for known token shapes: ")
    assert why in said
    assert scanner.leaks([("a", b"x")], NOBODY) == () and [*scanner.take_troubles()] == []


def test_it_is_looked_up_once_and_never_inside_the_work_tree(tmp_path: Path) -> None:
    program = fake(tmp_path / "bin")
    env = {"PATH": f"{tmp_path / 'bin'}:/usr/bin"}
    assert (
        find_scanner("auto", env, tmp_path / "work").program
        == program
        == find_scanner("gitleaks", env, tmp_path / "x").program
    )
    assert find_scanner("auto", env, tmp_path).program == "" == find_scanner("none", env, tmp_path / "work").program
    missing = find_scanner("betterleaks", env, tmp_path / "work")
    assert missing.program == "" and "betterleaks is not on PATH" in next(missing.take_troubles())
    assert [*find_scanner("auto", {"PATH": "/nowhere"}, tmp_path).take_troubles()] == []


def test_what_only_the_scanner_knows_is_kept_out_of_all_commits_of_a_run(lab: Lab) -> None:
    fake(lab.home / "bin")
    (lab.home / "bin/asked").touch()
    lab.config(proof="in-place")
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent(
        "echo 'a = \"hush-123456\"' > a.py; echo ok > own.py; git add a.py own.py; git commit -qm mine\n"
        "echo 'b = \"hush-654321\"' > b.py; [ $AIGON_ITERATION = 1 ] || { echo > a.py; echo > b.py; }; touch done.txt"
    )
    lab.env["PATH"] = f"{lab.home / 'bin'}:{lab.env['PATH']}"
    ran = lab.aigon(*LOOP, "--max-iterations", "2")
    assert ran.code == 0, ran.out + ran.err
    assert "gitleaks found hush" in ran.out
    assert "hush-" not in lab.git("log", "-p", BRANCH).replace("hush-key", "")
    assert "own.py" in lab.git("ls-tree", "--name-only", BRANCH)
