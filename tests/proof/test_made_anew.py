"""An environment that changed is made anew, from nothing that the agent could change."""

import subprocess
from pathlib import Path

from aigon.checks.reuse import find_dependency_folders
from aigon.job.job import ProofPlan
from aigon.profiles.ecosystem import Setup
from aigon.proof.rooms import rooms_for
from tests.compare.bench import job_of, spec_of, world_of
from tests.lab import Lab

INSTALL = """
cache=${UV_CACHE_DIR:-$HOME/.cache/uv}
mkdir -p "$cache" .venv
[ -e "$cache/tool" ] || echo sound > "$cache/tool"
ln "$cache/tool" .venv/tool || cp "$cache/tool" .venv/tool
"""


def test_what_is_edited_in_a_cache_by_a_link_is_not_what_an_environment_is_made_of(lab: Lab, tmp_path: Path) -> None:
    setups = (Setup("deps.lock", ("bash", "-ec", INSTALL), ".venv"),)
    lab.write("deps.lock", "tool 1\n")
    lab.write(".gitignore", ".venv/\n")
    lab.commit("dependencies")
    subprocess.run(["bash", "-ec", INSTALL], cwd=lab.root, env=lab.env, check=True)
    before = find_dependency_folders(lab.root, setups)
    lab.path(".venv/tool").write_text("patched\n")
    assert (lab.home / ".cache/uv/tool").read_text() == "patched\n"
    plan = ProofPlan(setups=setups, caches={"UV_CACHE_DIR": ".cache/uv"})
    with world_of(lab, lab.env) as world:
        world.workspace.snapshot()
        rooms = rooms_for(job_of(spec_of(), proof=plan), world, world.workspace.tree(), before, tmp_path / "logs")
        assert (rooms.needs.given[".venv"] / "tool").read_text() == "sound\n"
