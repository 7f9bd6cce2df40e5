"""`--dry-run`: the plan, its price, how each criterion is decided, the whole first prompt. Changes nothing."""

from collections.abc import Iterator, Sequence
from datetime import date

from aigon.checks.execution import render_command
from aigon.config.loading import open_work_tree
from aigon.config.price_tables import add_known_prices
from aigon.config.prices import describe_stale_prices, find_price
from aigon.files.home import find_home
from aigon.git.person import Checkout
from aigon.isolation import sandbox
from aigon.isolation.machine_paths import find_absent, strip_made
from aigon.job import branch
from aigon.job.escalation import AgentStep
from aigon.job.job import Job
from aigon.job.options import Options
from aigon.job.spec_locations import require_open_feature
from aigon.journal.records import locate_records
from aigon.journal.spending import estimate_cost_range
from aigon.journal.state import replay
from aigon.loop.prompt import describe_decision, fill_template
from aigon.model.checks import Check
from aigon.proof import protection as protected_files
from aigon.proof.vacuity import list_warnings
from aigon.run.choices import continue_choices
from aigon.run.feature_stages import render_worktree_command, require_feature
from aigon.run.prepare import Prepared, build_job, prepare_ready
from aigon.spec import files
from aigon.spec.features import Feature, parse_feature_path
from aigon.text.amounts import estimate_tokens, format_cost_range


def estimate_cost(job: Job, tokens: int) -> tuple[float, float] | None:
    """From the least to the much, in US dollars, for a first prompt of `tokens`; None where a model has no price.

    The dearest model of the steps's steps that this many turns can reach sets the upper end.
    """
    models = _models(job)
    table = add_known_prices(job.prices, *models)
    found = [find_price(table, model) for model in models]
    ranges = [estimate_cost_range(tokens, job.limits.iterations, one.price) for one in found if one]
    known = [one for one in ranges if one]
    if not known or len(known) < len(models):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def render_price_tag(job: Job, tokens: int) -> str:
    """`roughly $0.40 to $6`, or that nobody can say."""
    found = estimate_cost(job, tokens)
    if found:
        return f"roughly {format_cost_range(*found)}"
    models = ", ".join(filter(None, _models(job)))
    return "unknown" + (f" (no price for {models})" if models else "")


def warn_of_old_prices(job: Job, today: date) -> Iterator[str]:
    """What is to be said of prices that are old."""
    models = _models(job)
    if text := describe_stale_prices(add_known_prices(job.prices, *models), today, models):
        yield text


def _models(job: Job) -> list[str]:
    """The models of the steps that this invocation can come to, each once."""
    reached = job.steps if job.limits.iterations > 1 else job.steps[:1]
    return list(dict.fromkeys(rung.agent.model for rung in reached))


def plan_run(checkout: Checkout, options: Options) -> tuple[dict[str, object], str]:
    """The plan as a document and as text. Raises AigonError for what would refuse the run."""
    if not options.resume:
        require_feature(checkout, options.feature, write=False)
    require_open_feature(checkout.root, checkout.common_dir, options.feature)
    options = _as_resumed(checkout, options)
    prepared = prepare_ready(checkout, options)
    branch.require_sound(checkout)
    if not options.worktree:
        branch.list_own_changes(
            checkout,
            [prepared.feature.path],
            elsewhere=render_worktree_command(checkout.root, prepared.feature, options.agents),
        )
    job = build_job(prepared, options, checkout.head or "")
    prompt = _first_prompt(job)
    tracked = [path for path in checkout.git("ls-files", "-z").split("\0") if path]
    box = sandbox.choose_mechanism(options.sandbox or prepared.config.sandbox.mode, prepared.config.sandbox.network)
    protection = protected_files.document(job.protection, tracked)
    document = {**_document(prepared, job, prompt), "sandbox": box, "protection": protection}
    return document, _text(prepared, job, document, prompt, tracked, _granted(prepared, checkout, box))


def _as_resumed(checkout: Checkout, options: Options) -> Options:
    """Return the options with the choices of the run that --resume continues; as they are where there is none."""
    home = find_home(checkout.common_dir) if options.resume else None
    if home is None:
        return options
    name = files.resolve_name(checkout.root, options.feature, branch.find_branch(checkout, options.feature))
    started = replay(locate_records(home, name).each()).started
    return (
        continue_choices(options, started, checkout.root, open_work_tree(checkout.root)).options if started else options
    )


def _granted(prepared: Prepared, checkout: Checkout, box: str) -> str:
    """What the project says of the sandbox, and what of that names nothing that is there: such a grant is no error."""
    if box == "none":
        return ""
    own = prepared.config.sandbox
    told = [f"may {verb} {', '.join(paths)}" for verb, paths in (("write", own.write), ("read", own.read)) if paths]
    gone = find_absent((*own.write, *strip_made(own.read)), prepared.env, checkout.root)
    closed = ["network closed"] if own.network == "closed" else []
    return "".join(f"; {each}" for each in (*closed, *told, *([f"not there: {', '.join(gone)}"] if gone else [])))


def _first_prompt(job: Job) -> str:
    return fill_template(
        job.template,
        spec=job.spec,
        spec_path=job.spec_path,
        number=1,
        limit=job.limits.iterations,
        verdicts=(),
        checks=job.checks,
        digest="",
        logs="",
        validation_skipped=job.demand.skip_validation,
        judge=job.judge.backend if job.judge else "none",
        promises=job.promises,
    )


def _document(prepared: Prepared, job: Job, prompt: str) -> dict[str, object]:
    judge = job.judge.backend if job.judge else "none"
    return {
        "feature_id": prepared.feature.id,
        "assigns_id": _assigns_id(prepared.feature),
        "spec": prepared.feature.path,
        "branch": prepared.branch,
        "agent": {"name": job.agent.name, "model": job.agent.model},
        "judge": judge,
        "profile": prepared.checks.profile,
        "checks": [_check(check) for check in job.checks],
        "absent": [{"role": absent.role, "why": absent.why} for absent in prepared.checks.absent],
        "criteria": [
            {"number": c.number, "text": c.text, "kind": c.kind, "decided_by": describe_decision(c, job.checks, judge)}
            for c in job.spec.criteria
        ],
        "warnings": [{"line": each.line, "message": each.message} for each in list_warnings(prepared.spec)],
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
        "estimated_tokens": (tokens := estimate_tokens(prompt)),
        "estimated_cost": {"low": cost[0], "high": cost[1]} if (cost := estimate_cost(job, tokens)) else None,
        "ladder": [_describe_step(rung) for rung in job.steps],
        "fallback": [ladder[0].agent.name for ladder in job.fallback],
    }


def _assigns_id(feature: Feature) -> bool:
    """Whether the feature gets its ID when it starts: the name of its spec has none yet."""
    known = parse_feature_path(feature.path)
    return bool(feature.id and known and not known.id)


def _describe_step(rung: AgentStep) -> dict[str, object]:
    return {"turns": rung.turns, "model": rung.agent.model, "effort": rung.agent.effort, "full_digest": rung.full}


def _turns(job: Job) -> str:
    each = f"of {job.turn_timeout:.0f} s"
    if job.limits.single:
        return f"one turn {each} at most (--loop for more)"
    return f"up to {job.limits.iterations} iterations {each}" if job.limits.iterations > 1 else f"one iteration {each}"


def _list_steps(job: Job) -> list[str]:
    """A line per step, where there is more than one."""
    if len(job.steps) == 1:
        return []
    return [f"  rung {number}: {_worded(rung)}" for number, rung in enumerate(job.steps, 1)]


def _worded(rung: AgentStep) -> str:
    how = " ".join(filter(None, (rung.agent.model, rung.agent.effort and f"effort {rung.agent.effort}"))) or "as it is"
    return f"{how}, {f'{rung.turns} turns' if rung.turns else 'from then on'}" + (", whole digest" if rung.full else "")


def _check(check: Check) -> dict[str, object]:
    return {
        "name": check.name,
        "role": check.role,
        "command": render_command(check),
        "timeout": check.timeout,
        "exclusive": check.exclusive,
        "when": check.when,
        "source": check.source,
    }


def _text(
    prepared: Prepared, job: Job, document: dict[str, object], prompt: str, tracked: Sequence[str], granted: str
) -> str:
    judge = document["judge"]
    checks = [f"  {c.name}: {render_command(c)}  ({c.source}, up to {c.timeout:.0f} s)" for c in job.checks] or [
        "  none"
    ]
    absent = [f"  {each.text}" for each in prepared.checks.absent]
    criteria = [
        f"  {c.number}. {c.text}\n     {describe_decision(c, job.checks, str(judge))}" for c in job.spec.criteria
    ]
    model = f" ({job.agent.model})" if job.agent.model else ""
    lines = [
        f"Feature {prepared.feature.name_for_people}: {job.spec.title or prepared.feature.slug}",
        *([f"ID: {prepared.feature.id}, assigned when it starts"] if _assigns_id(prepared.feature) else []),
        f"Spec: {prepared.feature.path}",
        f"Branch: {prepared.branch}",
        f"Agent: {job.agent.name}{model}, {_turns(job)}",
        *_list_steps(job),
        f"Sandbox: {document['sandbox']}{granted}",
        *([f"Standing in: {', '.join(ladder[0].agent.name for ladder in job.fallback)}"] if job.fallback else []),
        f"Cost: {render_price_tag(job, estimate_tokens(prompt))}",
        f"Judge: {judge}",
        f"Profile: {prepared.checks.profile}",
        "Checks:",
        *checks,
        *absent,
        "Criteria:",
        *criteria,
        *(f"Warning, line {warning.line}: {warning.message}" for warning in list_warnings(prepared.spec)),
        *(["Accepted: criteria that all pass before the first turn (--accept-passing)"] * job.demand.accept_passing),
        "Protected from the agent:",
        *protected_files.lines(job.protection, tracked),
        f"Proof: {_proof(job)}",
        f"First prompt (about {document['estimated_tokens']} tokens):",
        "",
        *(f"  | {line}" for line in prompt.splitlines()),
        "",
        "Nothing was changed.",
    ]
    return "\n".join(lines)


def _proof(job: Job) -> str:
    """How everything is run once more in the end."""
    if job.proof.mode == "in-place":
        return "in place; the outcome says so"
    home = "a throwaway HOME" if job.proof.home == "throwaway" else "your HOME"
    return f"in a clean room (isolation: {job.proof.isolation}), with {home}"
