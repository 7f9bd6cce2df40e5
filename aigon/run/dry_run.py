"""`--dry-run`: the plan, its price, how each criterion is decided, the whole first prompt. Changes nothing."""

from collections.abc import Sequence

from aigon.checks.execution import render_command
from aigon.config.loading import open_work_tree
from aigon.files.home import find_home
from aigon.git.person import Checkout
from aigon.isolation import sandbox
from aigon.isolation.machine_paths import find_absent, strip_made
from aigon.job import branch
from aigon.job.escalation import AgentStep
from aigon.job.job import Job, open_main_checkout
from aigon.job.options import Options
from aigon.job.spec_locations import require_open_feature
from aigon.journal.records import locate_records
from aigon.journal.state import replay
from aigon.loop.prompt import describe_decision, fill_template
from aigon.profiles.resolution import describe_absent
from aigon.proof import protection
from aigon.proof.proposed_allow import describe_proposals
from aigon.proof.vacuity import list_warnings
from aigon.run.choices import continue_choices
from aigon.run.feature_stages import render_worktree_command, require_feature
from aigon.run.implement import estimate_cost, render_price_tag
from aigon.run.prepare import Prepared, build_job, prepare_ready
from aigon.run.seating import prefer_worktree
from aigon.spec import files
from aigon.spec.features import Feature, parse_feature_path
from aigon.text.amounts import estimate_tokens, format_count


def plan_run(checkout: Checkout, options: Options) -> tuple[dict[str, object], str]:
    """Return the plan as a document and as text. Raises AigonError for whatever a run would refuse."""
    if not options.resume:
        require_feature(checkout, options.feature, write=False)
    require_open_feature(checkout.root, checkout.common_dir, options.feature)
    options = _continue_options(checkout, options)
    moved: list[str] = []
    with open_main_checkout(checkout) as (main, here):
        options = options if here else prefer_worktree(main, options, moved.append)
    prepared = prepare_ready(checkout, options)
    branch.require_sound(checkout)
    if not options.worktree:
        beside = render_worktree_command(checkout.root, prepared.feature, options.agents)
        branch.list_own_changes(checkout, [prepared.feature.path], elsewhere=beside)
    job = build_job(prepared, checkout.head or "")
    judge = job.judge.backend if job.judge else "none"
    prompt = fill_template(job, 1, job.limits.iterations)
    tracked = [path for path in checkout.git("ls-files", "-z").split("\0") if path]
    box = sandbox.choose_mechanism(options.sandbox or prepared.config.sandbox.mode, prepared.config.sandbox.network)
    past = _describe_past(checkout, prepared)
    document = {
        **_build_document(prepared, job, prompt, judge),
        "notes": [*prepared.notes, *prepared.warnings],
        "past": past,
        "sandbox": box,
        "protection": protection.document(job.protection, tracked),
    }
    grants = "" if box == "none" else _describe_grants(prepared, checkout)
    return document, _render_plan(prepared, job, prompt, tracked, f"{box}{'; '.join([grants, *moved])}", past)


def _describe_past(checkout: Checkout, prepared: Prepared) -> str:
    """Return what past features, of the same kind if there are some, needed per criterion; "" if none was proven.

    Limits follow a person's decision and never this.
    """
    from aigon.journal.statistics import gather_statistics

    home = find_home(checkout.common_dir)
    found = gather_statistics(home, "kind") if home else None
    if not found:
        return ""
    kind = prepared.kind.name if prepared.kind else ""
    same = next((group for group in found.groups if group.name == kind and group.per_criterion), None)
    group = same or found.total
    if not group.per_criterion:
        return ""
    spread, which = group.per_criterion, f" of the kind {kind}" if same else ""
    return (
        f"{format_count(spread.n, 'proven run')}{which} needed {spread.median:.2g} iterations per criterion"
        f" (median; 9 in 10 at most {spread.p90:.2g})"
    )


def _continue_options(checkout: Checkout, options: Options) -> Options:
    """Return the options with the choices of the run that --resume continues, if there is one."""
    home = find_home(checkout.common_dir) if options.resume else None
    if home is None:
        return options
    name = files.resolve_name(checkout.root, options.feature, branch.find_branch(checkout, options.feature))
    started = replay(locate_records(home, name).each()).started
    if not started:
        return options
    return continue_choices(options, started, checkout.root, open_work_tree(checkout.root))[0]


def _describe_grants(prepared: Prepared, checkout: Checkout) -> str:
    """Return what the project grants in the sandbox, and which of these paths do not exist, which is no error."""
    own = prepared.config.sandbox
    grants = ["network closed"] if own.network == "closed" else []
    grants += [f"may {verb} {', '.join(paths)}" for verb, paths in (("write", own.write), ("read", own.read)) if paths]
    if absent := find_absent((*own.write, *strip_made(own.read)), prepared.env, checkout.root):
        grants.append(f"not there: {', '.join(absent)}")
    return "".join(f"; {each}" for each in grants)


def _build_document(prepared: Prepared, job: Job, prompt: str, judge: str) -> dict[str, object]:
    tokens = estimate_tokens(prompt)
    cost = estimate_cost(job, tokens)
    return {
        "feature_id": prepared.feature.id,
        "assigns_id": _assigns_id(prepared.feature),
        "spec": prepared.feature.path,
        "branch": prepared.branch,
        "agent": {"name": job.agent.name, "model": job.agent.model},
        "judge": judge,
        "profile": prepared.checks.profile,
        "checks": [
            {
                "name": check.name,
                "role": check.role,
                "command": render_command(check),
                "timeout": check.timeout,
                "exclusive": check.exclusive,
                "when": check.when,
                "source": check.source,
            }
            for check in job.checks
        ],
        "absent": [{"role": absent.role, "why": absent.why} for absent in prepared.checks.absent],
        "criteria": [
            {"number": c.number, "text": c.text, "kind": c.kind, "decided_by": describe_decision(c, job.checks, judge)}
            for c in job.spec.criteria
        ],
        "warnings": [{"line": each.line, "message": each.message} for each in list_warnings(prepared.spec)],
        "proposed_allow": [{"path": each.path, "why": each.why} for each in prepared.proposals],
        "accept_passing": job.demand.accept_passing,
        "proof": {"mode": job.proof.mode, "home": job.proof.home, "isolation": job.proof.isolation},
        "limits": {
            "iterations": job.limits.iterations,
            "iteration_timeout": job.turn_timeout,
            "idle_timeout": job.idle_timeout,
            "run_time": job.limits.run_time,
            "max_cost": job.limits.max_cost,
        },
        "prompt": prompt,
        "estimated_tokens": tokens,
        "estimated_cost": {"low": cost[0], "high": cost[1]} if cost else None,
        "ladder": [
            {"turns": step.turns, "model": step.agent.model, "effort": step.agent.effort, "full_digest": step.full}
            for step in job.steps
        ],
        "fallback": [steps[0].agent.name for steps in job.fallback],
    }


def _assigns_id(feature: Feature) -> bool:
    """Return whether the feature gets its ID when it starts: the name of its spec has none yet."""
    known = parse_feature_path(feature.path)
    return bool(feature.id and known and not known.id)


def _render_plan(
    prepared: Prepared, job: Job, prompt: str, tracked: Sequence[str], sandbox_and_grants: str, past: str
) -> str:
    judge = job.judge.backend if job.judge else "none"
    feature, tokens = prepared.feature, estimate_tokens(prompt)
    model = f" ({job.agent.model})" if job.agent.model else ""
    lines = [f"Feature {feature.name_for_people}: {job.spec.title or feature.slug}"]
    if _assigns_id(feature):
        lines += [f"ID: {feature.id}, assigned when it starts"]
    lines += [f"Spec: {feature.path}", f"Branch: {prepared.branch}"]
    lines += [f"Agent: {job.agent.name}{model}, {_describe_turns(job)}"]
    if len(job.steps) > 1:
        lines += [f"  step {number}: {_describe_step(step)}" for number, step in enumerate(job.steps, 1)]
    lines += [f"Sandbox: {sandbox_and_grants}"]
    if job.fallback:
        lines += [f"Standing in: {', '.join(steps[0].agent.name for steps in job.fallback)}"]
    lines += [f"Past: {past}"] if past else []
    lines += [f"Cost: {render_price_tag(job, tokens)}", f"Judge: {judge}"]
    lines += [f"Profile: {prepared.checks.profile}", "Checks:"]
    lines += [f"  {c.name}: {render_command(c)}  ({c.source}, up to {c.timeout:.0f} s)" for c in job.checks] or [
        "  none"
    ]
    lines += [f"  {line}" for line in describe_absent(prepared.checks.absent)]
    lines += ["Criteria:"]
    for c in job.spec.criteria:
        lines += [f"  {c.number}. {c.text}", f"     {describe_decision(c, job.checks, judge)}"]
    lines += [f"Note: {text}" for text in (*prepared.notes, *prepared.warnings)]
    lines += [f"Warning, line {warning.line}: {warning.message}" for warning in list_warnings(prepared.spec)]
    lines += describe_proposals(prepared.proposals, job.spec_path)
    if job.demand.accept_passing:
        lines += ["Accepted: criteria that all pass before the first turn (--accept-passing)"]
    lines += ["Protected from the agent:", *protection.lines(job.protection, tracked)]
    home = "a throwaway HOME" if job.proof.home == "throwaway" else "your HOME"
    proof = f"in a clean room (isolation: {job.proof.isolation}), with {home}"
    lines += [f"Proof: {'in place; the outcome says so' if job.proof.mode == 'in-place' else proof}"]
    lines += [f"First prompt (about {tokens} tokens):", ""]
    return "\n".join([*lines, *(f"  | {line}" for line in prompt.splitlines()), "", "Nothing was changed."])


def _describe_turns(job: Job) -> str:
    each = f"of {job.turn_timeout:.0f} s"
    if job.limits.single:
        return f"one turn {each} at most (--loop for more)"
    return f"up to {job.limits.iterations} iterations {each}" if job.limits.iterations > 1 else f"one iteration {each}"


def _describe_step(step: AgentStep) -> str:
    how = " ".join(filter(None, (step.agent.model, step.agent.effort and f"effort {step.agent.effort}"))) or "as it is"
    return f"{how}, {f'{step.turns} turns' if step.turns else 'from then on'}" + (", whole digest" if step.full else "")
