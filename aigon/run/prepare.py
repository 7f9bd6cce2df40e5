"""From the command line to a job, without changing anything: what `--dry-run` shows is what a run does."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from aigon.agents.configured import build_loop_command
from aigon.checks.execution import render_command
from aigon.checks.project_checks import ProjectChecks, require_named, require_tools, resolve_checks
from aigon.checks.wording import bind_to_check
from aigon.config import price_tables as prices
from aigon.config.loading import ReadFile, build_tool_path, load_configuration, open_work_tree
from aigon.config.models import Config, JudgeConfig
from aigon.config.prices import NO_PRICES, PriceTable
from aigon.errors import usage
from aigon.files.resources import find_resource
from aigon.git.person import Checkout
from aigon.isolation.machine_paths import rebase_search_paths
from aigon.job.job import Job, ProofPlan
from aigon.job.options import Options, idle_timeout, iteration_timeout, resolve_demand, resolve_limits, resolve_waits
from aigon.job.spec_locations import find_feature_here, find_feature_to_begin
from aigon.model.criteria import Spec, parse_promises
from aigon.model.judging import JudgeSettings
from aigon.model.turns import Agent
from aigon.process import capacity
from aigon.profiles.protection import Protection
from aigon.proof import protection
from aigon.run import actors
from aigon.run.actors import describe_withheld_secrets
from aigon.secrets import redaction
from aigon.spec import files
from aigon.spec.document import can_annotate
from aigon.spec.features import Feature


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything decided before a run. `agent` is None where none is needed (`feature-validate`).

    `fallback` are those that stand in for it; `said` and `warned` is what a person should know of these choices.
    """

    config: Config
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
    said: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()

    @property
    def agents(self) -> tuple[Agent, ...]:
        """Everybody who may work."""
        return (*((self.agent,) if self.agent else ()), *self.fallback)

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

    Raises AigonError: 2 for what is malformed, 6 for a missing agent.
    `read` gives the files that decide where the work tree holds an agent's work that is still to be judged.
    """
    root, main = checkout.root, main or checkout.root
    read = read or open_work_tree(root)
    config = load_configuration(read)
    if main != root:
        config = _with_agents_of(main, config)
    config = _with_judge_of(options, config)
    if options.loop and not config.ralph.enabled:
        where = "ralph.enabled in .aigon/config.json"
        hint = 'Set "enabled": true there, or leave --loop out for one iteration'
        raise usage("The loop is turned off for this project", where=where, hint=hint)
    resolve_limits(config, options)  # a limit that cannot be is said before anything is changed
    parse_promises(options.promises)
    find = find_feature_to_begin if with_agent else find_feature_here
    feature = feature or find(root, checkout.common_dir, options.feature)
    spec = files.read_spec(read, feature)
    env = {**_without_bytecode(checkout), **rebase_search_paths(os.environ, main, root)}
    check_env = {
        **redaction.drop_credentials(env, config.env.pass_),
        "PATH": build_tool_path(root, env.get("PATH", "")),
    }
    agent, chosen = actors.choose_agent(main, config, options, env, read) if with_agent else (None, "")
    others, warned = actors.list_fallback_agents(main, config, options, env, read, agent) if agent else ((), ())
    checks = resolve_checks(root, config, spec, options, env)
    spec = _bind_criteria(spec, checks)
    require_named(spec, feature.path, checks.checks)
    return Prepared(
        config=config,
        feature=feature,
        spec=spec,
        checks=checks,
        agent=agent,
        judge=actors.choose_judge_for(config, options, spec, env, root=main),
        env=env,
        check_env=check_env,
        protection=protection.protection_of(root, config, spec, checks.checks),
        proof=protection.proof_of(root, config),
        fallback=others,
        prices=prices.load_prices(read) if agent else NO_PRICES,
        said=tuple(
            filter(None, (chosen, _kept_back(main, config, env, agent, others), _one_turn(main, feature, options)))
        ),
        warned=warned,
    )


def _without_bytecode(checkout: Checkout) -> dict[str, str]:
    """Keep Python from writing bytecode where git does not ignore it: it would count as the agent's work."""
    ignored = checkout.ask("check-ignore", "-q", "--", "__pycache__/file") is not None
    return {} if ignored else {"PYTHONDONTWRITEBYTECODE": "1"}


def _one_turn(main: Path, feature: Feature, options: Options) -> str:
    """Return what a person should know who leaves --loop out."""
    if options.loop:
        return ""
    again = build_loop_command(main, feature.name_for_people, options.agents)
    return f"this is one turn; to go on until everything is proven: {again}"


def _bind_criteria(spec: Spec, checks: ProjectChecks) -> Spec:
    """Return the spec with criteria such as "`make test` passes" bound to the check that runs the command."""
    roles = {check.name: check.role for check in checks.checks}
    shown = {check.name: render_command(check) for check in checks.checks}
    names = {
        c.number: name
        for c in spec.criteria
        if c.kind == "judge" and (name := bind_to_check(c.text, roles, shown)) and can_annotate(spec, c.number)
    }
    criteria = (replace(c, kind="check", command=names[c.number]) if c.number in names else c for c in spec.criteria)
    return replace(spec, criteria=tuple(criteria)) if names else spec


def _kept_back(
    main: Path, config: Config, env: Mapping[str, str], agent: Agent | None, others: tuple[Agent, ...]
) -> str:
    return describe_withheld_secrets((agent, *others), env, config, main) if agent else ""


def _with_agents_of(main: Path, config: Config) -> Config:
    """Agents that came to the main checkout since the worktree was made; what is known there already stays as it is."""
    more = load_configuration(open_work_tree(main)).agents
    return config.model_copy(update={"agents": {**more, **config.agents}})


def _with_judge_of(options: Options, config: Config) -> Config:
    """Model and agent of the judge as the run that is resumed had them."""
    kept = {"model": options.judge_model, "agent": options.judge_agent}
    kept = {name: value for name, value in kept.items() if value is not None}
    judge = (config.judge or JudgeConfig()).model_copy(update=kept)
    return config.model_copy(update={"judge": judge}) if kept else config


def prepare_ready(
    checkout: Checkout,
    options: Options,
    feature: Feature | None = None,
    read: ReadFile | None = None,
    main: Path | None = None,
) -> Prepared:
    """Prepared, and what cannot work is said now, not in the morning. Raises AigonError (exit 2, 6 or 7)."""
    prepared = prepare(checkout, options, feature=feature, read=read, main=main)
    require_ready(main or checkout.root, prepared, options)
    return prepared


def require_ready(root: Path, prepared: Prepared, options: Options) -> None:
    """Raise AigonError where the agent cannot start (exit 6) or a check's tool is missing (exit 7)."""
    if prepared.agent:
        actors.require_agent(root, prepared.agent, options, prepared.env)
        actors.require_known_cost(prepared.config, options, prepared.agents)
        actors.require_startable_sandbox(prepared.config, options, prepared.agents)
    if not options.skip_validation:
        require_tools(prepared.checks.checks)


def build_job(
    prepared: Prepared,
    options: Options,
    base_commit: str,
    *,
    label: str = "",
    mode: Literal["solo", "worktree", "arena"] = "solo",
) -> Job:
    """The job, once it is known which commit it starts from."""
    config, feature = prepared.config, prepared.feature
    rungs = actors.list_escalation_steps(prepared.agent or Agent("none", "command"), config, options)
    return Job(
        feature=feature,
        label=label,
        mode=mode,
        spec=prepared.spec,
        spec_path=feature.path,
        log_path=feature.log(label),
        base_commit=base_commit,
        checks=() if options.skip_validation else prepared.checks.checks,
        demand=resolve_demand(config, prepared.spec, options),
        limits=resolve_limits(config, options, rungs),
        rungs=rungs,
        judge=prepared.judge,
        template=prompt_template(),
        turn_timeout=iteration_timeout(config, options, prepared.checks.turn),
        slots=capacity.count_slots(),
        stop_on_first_failure=config.ralph.stop_on_first_failure,
        auto_check=config.ralph.auto_check_criteria,
        use_cache=options.resume_from != "rerun",
        protection=prepared.protection,
        proof=prepared.proof,
        fallback=tuple(
            actors.list_escalation_steps(agent, config, options, first=False) for agent in prepared.fallback
        ),
        promises=parse_promises(options.promises),
        waits=resolve_waits(config, options),
        idle_timeout=idle_timeout(config, options),
        prices=prepared.prices,
    )


def prompt_template() -> str:
    """The text around the spec that an agent is given."""
    return find_resource("templates", "prompts", "implement.md").read_text(encoding="utf-8")


def follow_spec(prepared: Prepared, root: Path, feature: Feature) -> Prepared:
    """The same, after the spec has moved to another stage."""
    spec = _bind_criteria(files.read_spec(open_work_tree(root), feature), prepared.checks)
    return replace(prepared, feature=feature, spec=spec)
