"""The assessment of a proving run: each test has to be red for the right reason, again and again, in a clean room.

With a throwaway implementation it also has to turn green, and to notice when that is broken.
"""

from collections.abc import Generator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.git import objects
from aigon.isolation.dependencies import Bytecode
from aigon.isolation.mechanisms import CLOSING
from aigon.job.assessment import Assessment, Snapshot
from aigon.job.job import Job
from aigon.job.results import Result
from aigon.job.world import World
from aigon.journal.decisions import AcceptanceTest
from aigon.journal.events import CheckFinished, CheckStarted, CriterionJudged, Event, Notice
from aigon.journal.state import State
from aigon.loop.take import keep_secrets_out
from aigon.model.checks import Finding
from aigon.model.criteria import Criterion, Verdict
from aigon.proof.bench import ProofBench, make_bench
from aigon.proof.criteria import judge_by_own_command, list_commands, name_command
from aigon.proof.prove import frozen_of
from aigon.prove.deciders import LIST, Deciders, Red, classify_red, list_words, read_deciders
from aigon.prove.witness import Witness, list_mutants
from aigon.text.amounts import format_count
from aigon.text.quoting import fingerprint, fold

TIMES = 3
"""How often a test has to come out the same."""
LONGEST, LITTLE = 60.0, 5.0
"""Seconds that a test may take; on a broken implementation so many, and five times as long as on a sound one."""


class Weighing(Struct):
    """The weighing of tests in `folder`. `tests` and `files` are those of the last assessment, `agent` wrote them."""

    folder: str
    agent: str = ""
    witness: Witness | None = None
    tests: tuple[AcceptanceTest, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def stamp(self) -> str:
        """A name for the tests as they are."""
        return fingerprint(*(f"{path} {data!r}" for path, data in sorted(self.files.items())))

    @property
    def is_final(self) -> bool:
        """True if the witness was made for these very tests: what it does not turn green is at fault."""
        return self.witness is not None and self.witness.stamp == self.stamp

    @property
    def is_sound(self) -> bool:
        """True if any test is worth something."""
        return any(test.is_worth for test in self.tests)

    def assess(self, job: Job, world: World, snapshot: Snapshot, _state: State) -> Generator[Event, State, Assessment]:
        """Weigh the tests of this snapshot; each criterion with one that is worth something waits for a person."""
        tree, git = world.workspace.tree(), world.workspace.trusted
        entries = objects.list_entries(git, tree)
        own = {path: e.sha for path, e in entries.items() if path.startswith(f"{self.folder}/") and e.is_file}
        blobs = objects.read_blobs(git, own.values())
        self.files = {path: blobs[sha] for path, sha in own.items()}
        text = self.files.get(f"{self.folder}/{LIST}", b"").decode("utf-8", "replace")
        deciders = read_deciders(text, job.spec.criteria, entries)
        asked = [each for number, each in deciders.decided.items() if number not in deciders.faults]
        for criterion in asked:
            yield CheckStarted(world.now(), snapshot.number, name_command(criterion), _title(criterion))
        bench = _make_bench(job, world, snapshot, asked)
        scale = _Scale(bench, tree, asked, list_words(job.spec.raw.decode("utf-8", "replace")))
        built = self.witness and self.witness.drop_tests(job.protection)
        weighed = scale.weigh(built, is_final=self.is_final) if asked else {}
        prefix = f"feature-{job.feature.name_for_people}/{world.run_id}-{snapshot.number}-checks"
        for each in world.after_checks(prefix):
            yield Notice(world.now(), each, "warning")
        yield from keep_secrets_out(job, world, snapshot)
        world.sweep()
        self.tests = tuple(_describe(c, deciders, weighed) for c in job.spec.criteria)
        findings = []
        for criterion in asked:
            test = weighed[criterion.number]
            findings.append(_make_finding(criterion, test, scale.first[name_command(criterion)]))
            yield CheckFinished(world.now(), snapshot.number, findings[-1])
        verdicts = tuple(self._judge(test, deciders) for test in self.tests)
        if not (complete := not world.stop.now):
            verdicts = tuple(replace(v, status="unclear", reason="the run was stopped before this") for v in verdicts)
        for verdict, criterion in zip(verdicts, job.spec.criteria, strict=True):
            yield CriterionJudged(world.now(), snapshot.number, verdict, criterion.text)
        return Assessment(tuple(findings), verdicts, "", complete=complete)

    def _judge(self, test: AcceptanceTest, deciders: Deciders) -> Verdict:
        if test.fault:
            return Verdict(test.number, "unmet", test.kind, test.command, test.fault)
        if reason := deciders.undecidable.get(test.number):
            return Verdict(test.number, "unclear", "human", "", f"{self.agent} says that nothing can run: {reason}")
        return Verdict(test.number, "unclear", "human", test.command, test.worth)


class _Scale(Struct):
    """The runs of one assessment: `asked` are criteria with the commands that would decide them."""

    bench: ProofBench
    tree: str
    asked: Sequence[Criterion]
    words: frozenset[str]
    first: Mapping[str, Result] = field(default_factory=dict)

    def weigh(self, witness: Witness | None, *, is_final: bool) -> dict[int, AcceptanceTest]:
        """Return what each is worth, by the number of its criterion."""
        tests = self._weigh_reds()
        if witness and (sound := [n for n, test in tests.items() if test.is_worth]):
            tests |= self._weigh_witness({n: tests[n] for n in sound}, witness, is_final=is_final)
        return tests

    def _weigh_reds(self) -> dict[int, AcceptanceTest]:
        """Run all once, and what is red for the right reason so often that it can be called stable."""
        if self.asked and not self.bench.world.find(Bytecode):
            # Without the tests nothing passes there, but the runner's own modules are compiled, for all later rooms.
            checks = [replace(check, timeout=LONGEST) for check in list_commands(self.asked[:1])]
            replace(self.bench, of_people=True).run(f"{self.bench.job.base_commit}^{{tree}}", checks, "warm")
        self.first = self._run("red-1", self.asked)
        reds = {c.number: self._classify(c, self.first) for c in self.asked}
        again = [c for c in self.asked if not reds[c.number].fault]
        faults = {number: red.fault for number, red in reds.items()}
        for turn in range(2, TIMES + 1):
            results = self._run(f"red-{turn}", again)
            for c in again:
                other = self._classify(c, results)
                if other.kind != reds[c.number].kind:
                    faults[c.number] = f"it comes out differently each time: {reds[c.number].kind}, then {other.kind}"
        return {
            c.number: AcceptanceTest(
                c.number,
                c.text,
                c.kind,
                str(c.command),
                reds[c.number].kind,
                reds[c.number].message,
                round(self.first[name_command(c)].finding.duration, 2),
                TIMES if c in again else 1,
                fault=faults[c.number],
            )
            for c in self.asked
        }

    def _weigh_witness(
        self, tests: Mapping[int, AcceptanceTest], witness: Witness, *, is_final: bool
    ) -> dict[int, AcceptanceTest]:
        """Run the tests on the implementation, then on each mutant of it those that it turned green."""
        asked = [c for c in self.asked if c.number in tests]
        git = self.bench.world.workspace.trusted
        results = self._run("witness", asked, witness.lay_over(git, self.tree))
        reasons = {c.number: self._explain_red(c, results) for c in asked}
        green = [c for c in asked if not reasons[c.number]]
        took = max((results[name_command(c)].finding.duration for c in green), default=0.0)
        noticed: dict[int, dict[str, bool]] = {c.number: {} for c in green}
        for number, mutant in enumerate(list_mutants(witness.list_texts()) if green else (), 1):
            if self.bench.world.stop.now:
                break
            tree = witness.lay_over(git, self.tree, mutant.path, mutant.data)
            # One that never comes to its end is noticed, too.
            results = self._run(f"mutant-{number}", green, tree, min(LONGEST, LITTLE + 5 * took))
            for c in green:
                noticed[c.number][mutant.name] = bool(self._explain_red(c, results))
        weighed = {}
        for number, test in tests.items():
            mutants, fault = noticed.get(number, {}), ""
            if reasons[number] and is_final:
                fault = f"it stays red with an implementation that was made for it: {reasons[number]}"
            elif mutants and not any(mutants.values()):
                fault = f"it notices none of {format_count(len(mutants), 'mutant')} of an implementation: "
                fault += "; ".join([*mutants][:5])
            weighed[number] = replace(test, is_green=not reasons[number], mutants=mutants, fault=fault)
        return weighed

    def _run(
        self, name: str, asked: Sequence[Criterion], tree: str = "", seconds: float = LONGEST
    ) -> dict[str, Result]:
        checks = [replace(check, timeout=seconds) for check in list_commands(asked)]
        return self.bench.run(tree or self.tree, checks, name)

    def _classify(self, criterion: Criterion, results: Mapping[str, Result]) -> Red:
        return classify_red(results[name_command(criterion)], judge_by_own_command(criterion, results), self.words)

    def _explain_red(self, criterion: Criterion, results: Mapping[str, Result]) -> str:
        """Return why the command does not pass; "" if it does."""
        verdict = judge_by_own_command(criterion, results)
        return "" if verdict.status == "met" else fold(verdict.reason, 300) or "it fails"


def _make_bench(job: Job, world: World, snapshot: Snapshot, asked: Sequence[Criterion]) -> ProofBench:
    """Return the clean rooms, without a network if that can be."""
    shaped = replace(job, spec=replace(job.spec, criteria=tuple(asked)))
    folder = world.iteration_folder(snapshot.number) / "weighing"
    bench = make_bench(shaped, world, frozen_of(job, world), world.workspace.tree(), folder, ())
    return replace(bench, rooms=replace(bench.rooms, apart=bench.rooms.mechanism in CLOSING))


def _describe(criterion: Criterion, deciders: Deciders, weighed: Mapping[int, AcceptanceTest]) -> AcceptanceTest:
    number = criterion.number
    if number in weighed:
        return weighed[number]
    decided = deciders.decided.get(number)
    command = str(decided.command) if decided else ""
    return AcceptanceTest(
        number, criterion.text, decided.kind if decided else "judge", command, fault=deciders.faults.get(number, "")
    )


def _title(criterion: Criterion) -> str:
    return f"Test of criterion {criterion.number}"


def _make_finding(criterion: Criterion, test: AcceptanceTest, result: Result) -> Finding:
    """Return what a test is worth as a check: one that is worth something passes."""
    prints = (fingerprint(name_command(criterion), test.fault),) if test.fault else ()
    summary = test.fault or test.worth
    return replace(
        result.finding,
        role="script",
        title=_title(criterion),
        status="fail" if test.fault else "pass",
        summary=summary,
        problems=result.finding.problems if test.fault else (),
        fingerprints=prints,
        excerpt=result.finding.excerpt if test.fault else "",
    )
