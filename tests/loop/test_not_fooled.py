"""Ways into a false proof or into another feature's work. Each was seen to work once."""

import os
import signal
from pathlib import Path

import pytest

from aigon.loop.turn import remove_links
from tests.lab import DONE_WHEN, SPEC, Lab, finish, until

IN_PLACE = True
LOOP = ("feature-implement", "42", "--loop")
RESUME = ("feature-implement", "42", "--resume")
WAITS = 'touch "$HOME/begun"; until [ -e "$HOME/go" ]; do sleep 0.02; done'
OTHER = "docs/specs/features/03-in-progress/feature-43-other.md"


def killed_in_its_turn(lab: Lab) -> None:
    """Start the loop, and kill it -9 when its agent says that it has begun."""
    process = lab.start(*LOOP)
    until(lambda: (lab.home / "begun").exists())
    process.kill()
    process.communicate()


def idle(lab: Lab, script: str = "true") -> None:
    """From here on the agent runs this."""
    (lab.home / "mine-agent").write_text(f"#!/bin/bash\n{script}\n")


def test_the_validation_section_of_a_broken_off_turn_decides_nothing(lab: Lab) -> None:
    lab.spec("it builds <!-- verify: true -->", extra=f"## Validation\n\n```bash\n{DONE_WHEN}\n```\n")
    lab.agent(f"sed -i 's/^{DONE_WHEN}/true/' \"$AIGON_SPEC\"; {WAITS}")
    killed_in_its_turn(lab)
    idle(lab)
    assert lab.aigon(*RESUME, "--max-iterations", "1").code == 3
    assert f"\n{DONE_WHEN}\n" in lab.git("show", f"HEAD:{SPEC}")


def test_the_configuration_of_a_broken_off_turn_decides_nothing(lab: Lab) -> None:
    lab.spec("the script is happy <!-- check: script -->")
    lab.write(".aigon/validation.sh", f"{DONE_WHEN}\n")
    lab.agent(f"""
        printf 'exit 0\\n' > "$HOME/easy.sh"
        sed -i '1a "ralph": {{"validationScript": "'$HOME'/easy.sh"}},' .aigon/config.json
        {WAITS}
        """)
    killed_in_its_turn(lab)
    idle(lab)
    ran = lab.aigon(*RESUME, "--max-iterations", "1")
    assert ran.code == 3, ran.out + ran.err
    assert "validationScript" not in lab.git("show", "HEAD:.aigon/config.json")


def test_a_tick_that_an_agent_committed_in_a_broken_off_turn_is_no_persons(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", "it looks nice <!-- human -->")
    lab.agent(f"""
        touch done.txt; sed -i 's/- \\[ \\] it looks/- [x] it looks/' "$AIGON_SPEC"
        git add -A; git commit -qm work; {WAITS}
        """)
    killed_in_its_turn(lab)
    ran = lab.aigon(*LOOP)
    assert ran.code == 7, ran.out + ran.err
    assert "--resume" in ran.err


def test_a_box_that_aigon_ticked_for_an_approval_is_no_persons_tick(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", "it looks nice <!-- human -->")
    lab.agent("touch done.txt")
    assert lab.aigon(*LOOP).code == 4
    assert lab.aigon("approve", "42", "2", "--yes").code == 0
    assert (lab.aigon(*RESUME).code, lab.boxes()) == (0, "xx")
    lab.write("other.txt", "code that nobody has approved\n")
    lab.commit("a change")
    assert lab.aigon(*LOOP, "--max-iterations", "1").code == 4
    assert lab.boxes() == "x "


def test_a_persons_tick_is_for_the_text_that_was_ticked(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", "it looks nice <!-- human -->")
    lab.write(SPEC, lab.read(SPEC).replace("- [ ] it looks", "- [x] it looks"))
    lab.agent("true")
    assert lab.aigon(*LOOP, "--max-iterations", "1").code == 3
    lab.write(SPEC, lab.read(SPEC).replace("- [x] it looks nice", "- [ ] legal has signed"))
    idle(lab, "touch done.txt")
    ran = lab.aigon(*RESUME, "--accept-spec", "--yes")
    assert (ran.code, lab.boxes()) == (4, "x "), ran.out + ran.err


@pytest.mark.parametrize(
    "second",
    [
        ("feature-implement", "43", "--loop"),
        ("feature-setup", "43"),
        ("feature-create", "more"),
        ("feature-done", "42"),
    ],
)
def test_nothing_moves_the_checkout_under_a_running_loop(lab: Lab, second: tuple[str, ...]) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.spec("never <!-- verify: false -->", name=OTHER)
    lab.agent(f"{WAITS}; touch done.txt")
    lab.commit("specs")
    lab.git("switch", "-qc", "feature-43-other")
    lab.write("only43.txt", "43\n")
    lab.commit("43")
    lab.git("switch", "-q", "main")
    process = lab.start(*LOOP)
    until(lambda: (lab.home / "begun").exists())
    refused = lab.aigon(*second)
    (lab.home / "go").touch()
    assert (refused.code, f"pid {process.pid}" in refused.err) == (7, True), refused.err
    assert finish(process).code == 0
    assert "only43.txt" not in lab.git("ls-tree", "--name-only", "HEAD").split()
    lab.sound()


def test_a_resume_without_a_run_leaves_head_where_it_is(lab: Lab) -> None:
    lab.spec("never <!-- verify: false -->")
    lab.agent("true")
    lab.commit("spec")
    lab.git("branch", "feature-42-dark-mode")
    assert lab.aigon(*RESUME).code == 2
    assert lab.git("branch", "--show-current") == "main"


def test_ctrl_c_after_the_proof_is_still_a_success(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent(f"touch done.txt; {WAITS}")
    process = lab.start(*LOOP)
    until(lambda: (lab.home / "begun").exists())
    process.send_signal(signal.SIGINT)
    (lab.home / "go").touch()
    assert process.stdout is not None
    for line in process.stdout:
        if "exit code 0" in line:
            process.send_signal(signal.SIGINT)
    process.stdout.close()
    assert process.wait(30) == 0


def test_links_in_aigons_folder_stay_and_are_put_back_where_an_agent_bends_them(lab: Lab) -> None:
    lab.write("scripts/check.sh", "#!/bin/sh\ntest -f done.txt\n", executable=True)
    lab.write("scripts/yes.sh", "#!/bin/sh\n", executable=True)
    lab.path(".aigon").mkdir(exist_ok=True)
    lab.path(".aigon/validation.sh").symlink_to("../scripts/check.sh")
    lab.path(".aigon/nowhere").symlink_to("gone")
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent(
        """
        ln -sfn ../scripts/yes.sh .aigon/validation.sh
        echo true > scripts/check.sh
        [ $AIGON_ITERATION = 1 ] || touch done.txt
        """
    )
    lab.commit("links")
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 0, ran.out + ran.err
    assert lab.state()["iterations"][1]["checks"][0]["status"] == "fail"
    assert lab.git("show", "HEAD:.aigon/validation.sh") == "../scripts/check.sh"
    assert lab.git("show", "HEAD:.aigon/nowhere") == "gone"
    assert "your edits to .aigon/validation.sh, scripts/check.sh were put back" in ran.out
    assert "test -f" in lab.git("show", "HEAD:scripts/check.sh")
    lab.sound()


@pytest.mark.parametrize("is_link", [True, False])
def test_links_are_moved_out_of_a_folder_of_the_run_and_a_link_in_its_place_too(tmp_path: Path, is_link: bool) -> None:
    real, folder, aside = tmp_path / "real", tmp_path / "run" / "007", tmp_path / "aside"
    (real / "proof").mkdir(parents=True)
    (real / "proof" / "link").symlink_to("/etc")
    os.mkfifo(real / "pipe")
    folder.parent.mkdir()
    folder.symlink_to(real) if is_link else real.rename(folder)
    remove_links(folder, aside)
    left = {path.name for path in tmp_path.glob("run/**/*")}
    assert left == (set() if is_link else {"007", "proof"})
    moved = {path.name.partition("-")[2] for path in aside.iterdir()}
    assert moved == ({"007"} if is_link else {"link", "pipe"})
    remove_links(tmp_path / "gone", aside)


def test_what_an_agent_plants_in_the_run_folder_holds_up_no_later_turn(lab: Lab) -> None:
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent(
        """
        run=$(dirname "$(dirname "$AIGON_PROMPT_FILE")")
        case $AIGON_ITERATION in
        1) mkdir -p "$run/002" && mkfifo "$run/002/prompt.md" && mkdir "$run/002/agent-output.json";;
        2) ln -s /nowhere "$run/003"; rm -rf "$run/002"; ln -s "$HOME" "$run/002"; ln -s "$HOME" "$run/hooks";;
        3) grep -q Iteration "$AIGON_PROMPT_FILE" && touch done.txt;;
        esac
        """
    )
    ran = lab.aigon("feature-implement", "42", "--loop", timeout=30)
    assert ran.code == 0, ran.out + ran.err
    assert lab.state()["iteration"] == 3
    assert not [*lab.home.glob("*.log")], "nothing was written where the links led"


def test_what_the_spec_asks_to_change_and_is_put_back_is_a_question(lab: Lab) -> None:
    lab.write(".aigon/validation.sh", "true\n")
    lab.spec("`.aigon/validation.sh` is extended <!-- verify: grep -q more .aigon/validation.sh -->")
    lab.agent("echo 'true more' >> .aigon/validation.sh")
    lab.commit("a script")
    line = "allow: [.aigon/validation.sh]"
    shown, planned = lab.aigon("spec-show", "42"), lab.aigon("feature-implement", "42", "--dry-run")
    assert line in shown.out and line in planned.out
    ran = lab.aigon("feature-implement", "42", "--loop")
    assert ran.code == 4, ran.out + ran.err
    before, _, summary = ran.out.partition("Needs a human")
    assert line in before and f"say {line} in the frontmatter of {SPEC}" in summary
    lab.write(SPEC, f"---\n{line}\n---\n{lab.read(SPEC)}")
    again = lab.aigon("feature-implement", "42", "--resume", "--accept-spec", "--yes")
    assert again.code == 0, again.out + again.err
    assert "more" in lab.git("show", "HEAD:.aigon/validation.sh")


@pytest.mark.parametrize("how", [(), ("--worktree",)], ids=["solo", "worktree"])
def test_the_specs_and_logs_of_other_features_are_put_back(lab: Lab, how: tuple[str, ...]) -> None:
    gone = "docs/specs/features/05-done/feature-7-old.md"
    log = "docs/specs/features/logs/feature-7-old-log.md"
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    for path in (OTHER, gone, log):
        lab.write(path, "# Other\n\n## Acceptance Criteria\n\n- [ ] hard <!-- verify: make hard -->\n")
    lab.agent(f"""
        sed -i 's/make hard/true/' {OTHER}; git rm -q {gone}; git commit -qam "less to do"; echo proven >> {log}
        cp {OTHER} docs/specs/features/02-backlog-44-new.md; cp {OTHER} docs/specs/features/01-inbox-next.md
        mkdir -p docs/specs/features/01-inbox docs/specs/features/02-backlog
        mv docs/specs/features/02-backlog-44-new.md docs/specs/features/02-backlog/feature-44-new.md
        mv docs/specs/features/01-inbox-next.md docs/specs/features/01-inbox/feature-next.md
        touch done.txt
        """)
    lab.commit("other features")
    before = lab.git("rev-parse", "HEAD")
    ran = lab.aigon(*LOOP, *how)
    assert ran.code == 0, ran.out + ran.err
    tip = lab.git("for-each-ref", "--format=%(refname)", "--sort=-committerdate", "refs/heads").splitlines()[0]
    changed = lab.git("diff", "--name-only", before, tip, "--", "docs").splitlines()
    new = [path for path in changed if not path.endswith(("dark-mode.md", "dark-mode-log.md"))]
    assert new == ["docs/specs/features/01-inbox/feature-next.md"]
    assert f"{OTHER} and 2 more were put back: they belong to other features" in ran.out
    parked = lab.git("for-each-ref", "--format=%(refname)", "refs/aigon/parked").splitlines()
    assert "true" in lab.git("show", f"{next(ref for ref in parked if 'own-files' in ref)}:{OTHER}")


def test_a_spec_may_let_its_agent_write_other_specs(lab: Lab) -> None:
    allow = "---\nallow: [docs/specs/features/03-in-progress]\n---\n"
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", frontmatter=allow)
    lab.write(OTHER, "# Other\n")
    lab.agent(f"echo more >> {OTHER}; touch done.txt")
    lab.commit("another feature")
    ran = lab.aigon(*LOOP)
    assert ran.code == 0, ran.out + ran.err
    assert lab.git("show", f"HEAD:{OTHER}").endswith("more")
