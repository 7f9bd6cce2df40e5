"""As much of a job as a room and the checks in it ask for, and what these checks are told."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from aigon.config.loading import build_tool_path
from aigon.config.models import Config
from aigon.job.demand import Demand
from aigon.job.job import Job, ProofPlan
from aigon.job.options import Limits
from aigon.model.checks import Check
from aigon.model.criteria import Spec
from aigon.proof.frozen import Frozen
from aigon.secrets import redaction
from aigon.spec.features import Feature

ADDOPTS = "PYTEST_ADDOPTS"
EVERY_TEST = "--continue-on-collection-errors --maxfail=0"
"""A file that cannot be imported must not keep pytest from the others (docs.pytest.org, command-line flags)."""


def job_of(record: Frozen, plan: ProofPlan) -> Job:
    """A job with the frozen checks that run tests."""
    nothing = Spec(b"", "", {}, (), None)
    return Job(
        feature=Feature("", "compared", "", ""),
        label="",
        mode="solo",
        spec=nothing,
        spec_path="",
        log_path="",
        base_commit=record.base,
        checks=_of_tests(record.checks),
        demand=Demand(()),
        limits=Limits(),
        rungs=(),
        judge=None,
        template="",
        turn_timeout=0.0,
        proof=plan,
    )


def _of_tests(checks: tuple[Check, ...]) -> tuple[Check, ...]:
    """The checks whose role is tests; the validation script where there is none, which may run some."""
    found = tuple(check for check in checks if check.role == "tests")
    found = found or tuple(check for check in checks if check.role == "script")
    return tuple(_told(check) for check in found)


def _told(check: Check) -> Check:
    """A check with options of its own for pytest is told the same as those without."""
    if ADDOPTS not in check.env:
        return check
    return replace(check, env={**check.env, ADDOPTS: _all_tests(check.env)})


def check_env(root: Path, config: Config, run_id: str) -> dict[str, str]:
    """The environment of checks, in which pytest runs every test that it can."""
    env = redaction.drop_credentials(dict(os.environ), config.env.pass_)
    return {**env, "PATH": build_tool_path(root), "AIGON_RUN": run_id, ADDOPTS: _all_tests(env)}


def _all_tests(env: Mapping[str, str]) -> str:
    return f"{env.get(ADDOPTS, '')} {EVERY_TEST}".strip()
