"""From the command line to a job, without changing anything: what `--dry-run` shows is what a run does."""

import os
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from aigon.agents.configured import build_loop_command
from aigon.checks.execution import render_command
from aigon.checks.project_checks import ProjectChecks, require_named, require_tools, resolve_checks
from aigon.checks.wording import bind_to_check
from aigon.config.loading import ReadFile, build_tool_path, load_configuration, load_prices, open_work_tree
from aigon.config.models import Config, JudgeConfig
from aigon.config.prices import NO_PRICES, PriceTable
from aigon.errors import usage
from aigon.files.home import find_home
from aigon.files.resources import find_resource
from aigon.git.listings import split_listing
from aigon.git.person import Checkout
from aigon.isolation.machine_paths import rebase_search_paths
from aigon.job.job import Job, ProofPlan
from aigon.job.options import (
    Options,
    get_limit,
    resolve_demand,
    resolve_limits,
    resolve_turn_timeout,
    resolve_waits,
)
from aigon.job.spec_locations import find_dependencies, find_feature_here, find_feature_to_begin, list_spec_locations
from aigon.journal.decisions import Acceptance
from aigon.journal.records import load_acceptance
from aigon.model.criteria import HIDDEN, Criterion, Spec, list_promises, parse_promises
from aigon.model.requests import JudgeSettings
from aigon.model.turns import Agent
from aigon.process import capacity
from aigon.profiles.protection import Protection
from aigon.proof import protection
from aigon.proof.proposed_allow import AllowProposal, propose_allow
from aigon.run import actors
from aigon.run.choices import TaskKind, apply_settings, describe_settings, find_kind
from aigon.secrets import redaction
from aigon.spec import files
from aigon.spec.document import can_annotate
from aigon.spec.features import Feature


class Prepared(Struct, frozen=True):
    """Everything decided before a run. `agent` is None for verbs that need none (`feature-validate`).

    `options` are those of the command line, completed by the spec, `kind` is the kind of task that it names. `fallback`
    are the stand-ins of `agent`; `notes` and `warnings` tell a person about these choices, `proposals` what
    the spec should allow by its own words.
    """

    config: Config
    options: Options
    feature: Feature
    spec: Spec
    checks: ProjectChecks
    agent: Agent | None
    judge: JudgeSettings | None
    env: dict[str, str]
    check_env: dict[str, str]
    protection: Protection
    proof: ProofPlan
    fallback: tuple[Agent, ...] = ()
    prices: PriceTable = NO_PRICES
    kind: TaskKind | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    proposals: tuple[AllowProposal, ...] = ()
    acceptance: Acceptance | None = None

    @property
    def agents(self) -> tuple[Agent, ...]:
        """Everybody who may work."""
        return (self.agent, *self.fallback) if self.agent else self.fallback

    @property
    def branch(self) -> str:
        """The feature's branch in solo mode."""
        return self.feature.name


def prepare(
    checkout: Checkout,
    options: Options,
    *,
    with_agent: bool = True,
    feature: Feature | None = None,
    read: ReadFile | None = None,
    main: Path | None = None,
) -> Prepared:
    """Read configuration, spec and project, and agents as the `main` checkout has them.

    `read` gives the files that decide if the work tree holds an agent's work that is not assessed yet. Raises
    AigonError: 2 for what is malformed, 6 for a missing agent.
    """
    root, main = checkout.root, main or checkout.root
    read = read or open_work_tree(root)
    config = _load_configuration(root, main, options, read)
    _require_loop(config, options)
    resolve_limits(config, options)  # an impossible limit is refused before anything is changed
    parse_promises(options.promises)
    find = find_feature_to_begin if with_agent else find_feature_here
    feature = feature or find(root, checkout.common_dir, options.feature)
    name = feature.path if root == main else str(root / feature.path)
    spec = files.read_spec(read, feature, name)
    kind = find_kind(config, spec, feature.path)
    options = apply_settings(options, spec.settings, kind)
    _require_loop(config, options)
    env = rebase_search_paths(os.environ, main, root)
    if checkout.ask("check-ignore", "-q", "--", "__pycache__/file") is None:  # it would count as the agent's work
        env = {"PYTHONDONTWRITEBYTECODE": "1", **env}
    tools = {"PATH": build_tool_path(root, env.get("PATH", ""))}
    notes = tuple(describe_settings(options, kind, spec))
    checks = resolve_checks(root, config, spec, options, env)
    acceptance = load_acceptance(find_home(checkout.common_dir), feature.name_for_people)
    spec = _bind_criteria(spec, checks, acceptance)
    require_named(spec, name, checks.checks)
    prepared = Prepared(
        config=config,
        options=options,
        feature=feature,
        spec=spec,
        checks=checks,
        agent=None,
        judge=actors.choose_judge_for(config, options, spec, env, main),
        env=env,
        check_env={**redaction.drop_credentials(env, config.env.pass_), **tools},
        protection=protection.protection_of(root, config, spec, checks.checks),
        proof=protection.proof_of(root, config),
        kind=kind,
        acceptance=acceptance,
    )
    return _add_agents(prepared, checkout, main, read, notes) if with_agent else prepared


def _add_agents(
    prepared: Prepared, checkout: Checkout, main: Path, read: ReadFile, settled: tuple[str, ...]
) -> Prepared:
    """Return the same with who works, and what a person should know of that besides what the spec `settled`."""
    config, options, feature, env = prepared.config, prepared.options, prepared.feature, prepared.env
    agent, choice = actors.choose_agent(main, config, options, env, read)
    fallback, warnings = actors.list_fallback_agents(main, config, options, env, read, agent)
    withheld = actors.describe_withheld_secrets((agent, *fallback), env, config, main)
    again = build_loop_command(main, feature.name_for_people, options.agents)
    one_turn = "" if options.loop else f"this is one turn; to continue until everything is proven: {again}"
    return replace(
        prepared,
        agent=agent,
        fallback=fallback,
        prices=load_prices(read),
        notes=tuple(filter(None, (choice, withheld, *settled, one_turn))),
        warnings=(*warnings, *list_waiting(checkout, feature, prepared.spec)),
    )


def _load_configuration(root: Path, main: Path, options: Options, read: ReadFile) -> Config:
    """Return the configuration for a run. Raises AigonError (exit 2) for a malformed one."""
    config = load_configuration(read)
    if main != root:  # agents that were configured since the worktree was made; what it knows stays as it is
        more = load_configuration(open_work_tree(main)).agents
        config = config.update(agents={**more, **config.agents})
    resumed = {"model": options.judge_model, "agent": options.judge_agent}
    if kept := {name: value for name, value in resumed.items() if value is not None}:
        config = config.update(judge=(config.judge or JudgeConfig()).update(**kept))
    return config


def _require_loop(config: Config, options: Options) -> None:
    """Raise AigonError (exit 2) if a loop is wanted and the configuration turns it off."""
    if options.loop and not config.ralph.enabled:
        where = "ralph.enabled in .aigon/config.json"
        hint = 'Set "enabled": true there, or leave --loop out for one iteration'
        raise usage("The loop is turned off for this project", where=where, hint=hint)


def list_waiting(checkout: Checkout, feature: Feature, spec: Spec) -> list[str]:
    """Return a warning for each feature that this one depends on and that is not merged yet. Raises AigonError (2)."""
    if not spec.settings.depends_on:
        return []
    places = list_spec_locations(checkout.root, checkout.common_dir)
    waiting = []
    for place in find_dependencies(places, feature, spec.settings):
        name, stage = place.feature.name_for_people, place.feature.stage
        state = "is not merged yet" if stage == "done" else f"is in the stage {stage}"
        waiting.append(f"this feature depends on feature {name}, which {state}")
    return waiting


def _bind_criteria(spec: Spec, checks: ProjectChecks, acceptance: Acceptance | None) -> Spec:
    """Return the spec with criteria such as "`make test` passes" bound to the check that runs the command.

    Those that accepted hidden tests were written for are bound to these.
    """
    roles = {check.name: check.role for check in checks.checks}
    shown = {check.name: render_command(check) for check in checks.checks}
    names = {
        c.number: name
        for c in spec.criteria
        if c.kind == "judge" and (name := bind_to_check(c.text, roles, shown)) and can_annotate(spec, c.number)
    }
    hidden = acceptance if acceptance and acceptance.hidden else None

    def bind(criterion: Criterion) -> Criterion:
        if criterion.kind == "judge" and hidden and hidden.find_accepted(criterion):
            return replace(criterion, kind=HIDDEN)
        name = names.get(criterion.number)
        return replace(criterion, kind="check", command=name) if name else criterion

    return replace(spec, criteria=tuple(map(bind, spec.criteria))) if names or hidden else spec


def prepare_ready(
    checkout: Checkout,
    options: Options,
    feature: Feature | None = None,
    read: ReadFile | None = None,
    main: Path | None = None,
) -> Prepared:
    """Prepare, and require what has to start: now, not in the middle of the night.

    Raises AigonError, also if an agent cannot start (exit 6) or the tool of a check is missing (exit 7).
    """
    prepared = prepare(checkout, options, feature=feature, read=read, main=main)
    if prepared.agent:
        actors.require_agent(main or checkout.root, prepared.agent, options, prepared.env)
        actors.require_known_cost(prepared.config, options, prepared.agents)
        actors.require_startable_sandbox(prepared.config, options, prepared.agents)
    if not options.skip_validation:
        require_tools(prepared.checks.checks)
    return add_proposals(prepared, checkout)


def add_proposals(prepared: Prepared, checkout: Checkout) -> Prepared:
    """Return the same with what the spec should allow, by its own words, of the files that git has."""

    def list_tracked() -> list[str]:
        return [*split_listing(checkout.list_index())]

    proposals = propose_allow(prepared.spec, prepared.protection, checkout.root, list_tracked)
    asked = tuple(proposal.path for proposal in proposals)
    return replace(prepared, proposals=proposals, protection=replace(prepared.protection, asked=asked))


def build_job(
    prepared: Prepared,
    base_commit: str,
    *,
    label: str = "",
    mode: Literal["solo", "worktree", "arena"] = "solo",
) -> Job:
    """Return the job, once it is known which commit it starts from."""
    config, feature, options = prepared.config, prepared.feature, prepared.options
    steps = actors.list_escalation_steps(prepared.agent or Agent("none", "command"), config, options)
    stated = prepared.acceptance.list_caveats(seen=options.allow_visible) if prepared.acceptance else ()
    return Job(
        feature=feature,
        label=label,
        mode=mode,
        spec=prepared.spec,
        spec_path=feature.path,
        log_path=feature.log(label),
        base_commit=base_commit,
        checks=() if options.skip_validation else prepared.checks.checks,
        demand=replace(resolve_demand(config, prepared.spec, options), stated=stated),
        limits=resolve_limits(config, options, steps),
        steps=steps,
        judge=prepared.judge,
        template=find_resource("templates", "prompts", "implement.md").read_text(encoding="utf-8"),
        turn_timeout=resolve_turn_timeout(config, options, prepared.checks.turn),
        slots=capacity.count_slots(),
        stop_on_first_failure=config.ralph.stop_on_first_failure,
        auto_check=config.ralph.auto_check_criteria,
        use_cache=options.resume_from != "rerun",
        protection=prepared.protection,
        proof=prepared.proof,
        acceptance=prepared.acceptance,
        fallback=tuple(
            actors.list_escalation_steps(agent, config, options, first=False) for agent in prepared.fallback
        ),
        promises=list_promises(options.promises, prepared.spec),
        waits=resolve_waits(config, options),
        idle_timeout=get_limit(config, options, "idle_timeout"),
        prices=prepared.prices,
    )


def follow_spec(prepared: Prepared, root: Path, feature: Feature) -> Prepared:
    """Return the same after the spec has moved to another stage."""
    spec = _bind_criteria(files.read_spec(open_work_tree(root), feature), prepared.checks, prepared.acceptance)
    return replace(prepared, feature=feature, spec=spec)
