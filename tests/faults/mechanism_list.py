"""What each promise rests on, as text that can be taken out, and the test that has to be red without it."""

from dataclasses import dataclass

ROWS = "tests/faults/rows"
RESUME = "tests/loop/test_resume.py"
REFUSALS = "tests/loop/test_refusals.py"
REPAIR = "tests/loop/test_repair.py"
SECRETS = "tests/loop/test_secrets.py"
SANDBOX = "tests/loop/test_sandbox.py"
CURIOUS = "test_an_honest_agent_works_as_before_and_a_curious_one_finds_nothing"
GRANTED = "test_aigons_records_stay_hidden_in_a_folder_that_is_granted"
PROCESSES = "tests/loop/test_processes.py"
DAMAGED = f"{REPAIR}::test_a_journal_damaged_in_the_middle_is_repaired_and_the_run_goes_on"
DENIED = "tests/isolation/test_sandbox.py::test_what_is_hidden_cannot_be_read_and_what_is_not_granted_cannot_be_written"
INDEX = "tests/git/test_index_file.py::test_what_changed_in_the_moment_it_was_staged_is_seen_by_a_copy_of_the_index_too"


@dataclass(frozen=True, slots=True)
class Mechanism:
    """Without `text` of `file`, for which `instead` stands, the `test` fails; `row` is the fault that it is against."""

    row: str
    name: str
    file: str
    text: str
    instead: str
    test: str


KILLED = (
    Mechanism(
        "kill -9 of the loop", "a published commit is found by the ref's value", "aigon/run/resume.py",
        "    intended, tip = state.intended, workspace.tip()\n", "    intended, tip = None, workspace.tip()\n",
        f"{RESUME}::test_a_kill_after_the_branch_moved_is_found_by_the_ref_and_costs_no_turn[False]",
    ),
    Mechanism(
        "kill -9 of the loop", "the watchdog ends what a killed loop left", "aigon/process/watchdog.py",
        '_start_watchdog(invocation) if sys.platform.startswith("linux") else None', "None",
        "tests/process/test_guardian.py::test_a_killed_loop_leaves_no_agent_and_nothing_that_the_agent_hid",
    ),
    Mechanism(
        "kill -9 inside git", "a killed git's lock on the private index goes", "aigon/git/private_index.py",
        '        self._index.with_name("index.lock").unlink(missing_ok=True)\n', "",
        f"{ROWS}/test_git_killed.py::"
        "test_a_git_that_is_killed_in_a_checkpoint_is_named_and_leaves_nothing_in_the_way",
    ),
    Mechanism(
        "kill -9 of the loop", "a killed loop's lock on the branch goes", "aigon/git/branch_ref.py",
        '== commit.encode() + b"\\n":', '== b"":',
        f"{RESUME}::test_a_kill_before_the_branch_moved_publishes_the_same_tree[True]",
    ),
    Mechanism(
        "kill -9 inside git", "only a lock that holds the checkpoint is aigon's", "aigon/git/branch_ref.py",
        'if self.lock.read_bytes() == commit.encode() + b"\\n":', "if self.lock.exists():",
        f"{ROWS}/test_foreign_locks.py::test_a_lock_on_the_branch_is_removed_only_where_it_holds_our_commit",
    ),
    Mechanism(
        "kill -9 inside git", "a branch that moved has moved, however git ended", "aigon/git/workspace.py",
        "if code and self.tip() != commit:", "if code:",
        f"{ROWS}/test_foreign_locks.py::test_a_git_that_dies_after_it_moved_the_branch_has_moved_it",
    ),
    Mechanism(
        "kill -9 inside git", "aigon's own lock on the checkout's index goes", "aigon/run/resume.py",
        "        lock.unlink()\n", "        pass\n",
        f"{RESUME}::test_a_kill_before_the_branch_moved_publishes_the_same_tree[True]",
    ),
    Mechanism(
        "kill -9 of the loop", "a resume takes over what its run was started with", "aigon/run/choices.py",
        "for name, value in values.items() if value not in", "for name, value in () if value not in",
        "tests/loop/test_resumed_choices.py::"
        "test_after_a_kill_the_recorded_agent_continues_under_the_limits_of_the_run",
    ),
    Mechanism(
        "index.lock held", "a lock of the agent's ended git is moved aside", "aigon/git/locks.py",
        "        place = move_aside(lock, self.displaced)\n", "        place = lock\n",
        "tests/loop/test_stale_locks.py::test_locks_of_the_agents_ended_git_are_moved_aside_and_named",
    ),
    Mechanism(
        "index.lock held", "a lock that a living process may hold stays", "aigon/git/locks.py",
        "        while who := describe_holder(lock) or self._living_git():\n", '        while who := "":\n',
        "tests/loop/test_stale_locks.py::test_a_lock_from_before_the_turn_or_of_a_living_git_stays",
    ),
    Mechanism(
        "another HOME", "the id of a repository stays", "aigon/files/home.py",
        "    if home and not _is_copy(common_dir, home):\n", "    if home and not home:\n",
        f"{RESUME}::test_records_are_found_from_another_home_by_the_command_that_is_printed",
    ),
)  # fmt: skip
POWER = (
    Mechanism(
        "power cut", "the intention is on the disk before the branch moves", "aigon/files/checksums.py",
        "        if durable:\n            os.fdatasync(self._fd)",
        "        if False:\n            os.fdatasync(self._fd)",
        f"{ROWS}/test_durability.py::test_objects_then_the_intention_then_the_branch_and_only_then_done[loose]",
    ),
    Mechanism(
        "power cut", "the branch's file is flushed before it is renamed", "aigon/git/branch_ref.py",
        "                    os.fsync(handle)\n", "",
        f"{ROWS}/test_durability.py::test_objects_then_the_intention_then_the_branch_and_only_then_done[loose]",
    ),
    Mechanism(
        "power cut", "packs are written out too", "aigon/git/private_index.py",
        '"GIT_CONFIG_VALUE_0": "-loose-object"', '"GIT_CONFIG_VALUE_0": "-loose-object,-pack,-pack-metadata"',
        f"{ROWS}/test_durability.py::test_objects_then_the_intention_then_the_branch_and_only_then_done[packed]",
    ),
    Mechanism(
        "power cut", "the objects of the next commit are written out", "aigon/git/branch_ref.py",
        "        _flush_files(f\"{objects}/{name[:2]}/{name[2:]}\" for name in (*names, commit))\n", "",
        f"{ROWS}/test_durability.py::test_all_objects_of_the_next_commit_are_handed_over_by_their_names",
    ),
    Mechanism(
        "power cut", "objects that the agent's git wrote are written out", "aigon/git/branch_ref.py",
        "        self.write_out()\n        code", "        code",
        f"{ROWS}/test_durability.py::test_objects_that_the_agents_own_git_wrote_are_handed_over_too",
    ),
    Mechanism(
        "power cut", "the branch's name is flushed on a disk of its own", "aigon/git/branch_ref.py",
        "            sync_folder(folder)\n", "            pass\n",
        f"{ROWS}/test_durability.py::"
        "test_on_a_disk_of_its_own_the_journal_says_done_after_the_branch_is_flushed",
    ),
    Mechanism(
        "power cut", "a resume looks whether all objects are there", "aigon/run/resume.py",
        "    require_whole(checkout, state)\n", "",
        f"{ROWS}/test_power_cut.py::"
        "test_a_branch_that_names_lost_objects_is_refused_with_a_command_that_helps[a blob gone]",
    ),
    Mechanism(
        "power cut", "objects without a byte go", "aigon/run/run_world.py",
        '    remove_empty_objects(checkout.common_dir / "objects")\n', "",
        f"{ROWS}/test_power_cut.py::"
        "test_a_branch_that_names_lost_objects_is_refused_with_a_command_that_helps[a blob empty]",
    ),
    Mechanism(
        "power cut", "a branch that cannot be read is not called new", "aigon/run/run_world.py",
        "raise describe_damaged_ref(checkout, branch, last) or deleted", "raise deleted",
        f"{ROWS}/test_power_cut.py::"
        "test_a_branch_that_names_lost_objects_is_refused_with_a_command_that_helps[ref empty]",
    ),
)  # fmt: skip
STOPPED = (
    Mechanism(
        "SIGINT / SIGTERM / SIGHUP", "the first Ctrl+C only asks", "aigon/process/stop.py",
        'if name == "SIGINT" and not self.reason:', "if False:",
        "tests/loop/test_interrupt.py::test_after_the_first_ctrl_c_the_iteration_is_finished_and_committed[SIGINT]",
    ),
    Mechanism(
        "aigon stop", "a loop looks for the request beside its own note", "aigon/run/implement.py",
        "        stop.requests = tuple(filter(None, (running.request, task.request)))\n", "        pass\n",
        "tests/loop/test_interrupt.py::test_after_the_first_ctrl_c_the_iteration_is_finished_and_committed[aigon stop]",
    ),
    Mechanism(
        "clock jump, suspend", "deadlines are counted on a monotonic clock", "aigon/process/run.py",
        "import time\n",
        "import time as _clock\nfrom types import SimpleNamespace\n\n"
        "time = SimpleNamespace(monotonic=lambda: _clock.time(), time=lambda: _clock.time())\n",
        f"{ROWS}/test_clock.py::test_a_deadline_is_counted_on_a_clock_that_nobody_sets[315360000.0]",
    ),
    Mechanism(
        "clock jump, suspend", "a run's time is counted on a monotonic clock", "aigon/job/world.py",
        "return time.monotonic() - self.begun", "return time.time() - self.begun",
        f"{ROWS}/test_clock.py::test_a_runs_time_is_counted_on_a_clock_that_nobody_sets[315360000.0]",
    ),
    Mechanism(
        "agent hangs", "a deadline ends a turn", "aigon/process/run.py",
        "elif waiting.due is not None and time.monotonic() >= waiting.due:", "elif False:",
        f"{ROWS}/test_clock.py::test_a_deadline_is_counted_on_a_clock_that_nobody_sets[315360000.0]",
    ),
    Mechanism(
        "agent forks daemons", "aigon adopts orphans", "aigon/process/orphans.py",
        "libc.prctl(PR_SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0) == 0", "False",
        "tests/process/test_reaper.py::test_a_daemon_that_forked_twice_and_left_its_session_is_ended",
    ),
    Mechanism(
        "429, 529", "a usage limit is waited for", "aigon/loop/turn.py",
        "if math.isinf(until) or availability.waited", "if True or availability.waited",
        "tests/loop/test_held_up.py::test_a_usage_limit_is_waited_for_until_it_resets_and_uses_up_no_iteration",
    ),
)  # fmt: skip
MEANWHILE = (
    Mechanism(
        "index.lock held", "a foreign lock is waited for", "aigon/git/locks.py",
        "LOCK_SECONDS = 10.0", "LOCK_SECONDS = 0.0",
        f"{REFUSALS}::test_an_index_that_another_git_holds_is_waited_for",
    ),
    Mechanism(
        "index.lock held", "the holder is named", "aigon/git/locks.py",
        "who = describe_holder(lock)", 'who = ""',
        f"{ROWS}/test_foreign_locks.py::test_the_process_that_holds_the_index_is_named",
    ),
    Mechanism(
        "index.lock held", "a foreign lock is not removed", "aigon/git/locks.py",
        "left.read(100) == MARK", "True",
        f"{REFUSALS}::test_an_index_held_for_long_is_refused_by_name_and_the_lock_stays",
    ),
    Mechanism(
        "dirty tree", "uncommitted work is refused", "aigon/job/branch.py",
        "    if others:\n", "    if False:\n",
        f"{ROWS}/test_meanwhile.py::test_what_cannot_be_run_in_is_refused_with_every_byte_as_it_was[dirty]",
    ),
    Mechanism(
        "detached HEAD", "a detached HEAD is refused", "aigon/job/branch.py",
        "    if branch is None:\n", "    if branch is None and False:\n",
        f"{ROWS}/test_meanwhile.py::test_what_cannot_be_run_in_is_refused_with_every_byte_as_it_was[detached]",
    ),
    Mechanism(
        "branch checked out elsewhere", "it is refused", "aigon/job/branch.py",
        "if other := checkout.checked_out_elsewhere(branch):", "if other := None:",
        f"{REFUSALS}::test_a_branch_that_is_checked_out_elsewhere_is_refused",
    ),
    Mechanism(
        "user commits meanwhile", "compare-and-swap", "aigon/git/branch_ref.py",
        "self._name, commit, old, headless=True", "self._name, commit, headless=True",
        f"{ROWS}/test_meanwhile.py::"
        "test_a_commit_just_before_the_branch_moves_is_kept_and_so_is_aigons",
    ),
    Mechanism(
        "two loops on one feature", "the feature's lock, wherever it is worked on", "aigon/run/session.py",
        '    held.enter_context(hold_lock(loop_lock(opening.home, name, opening.seat.label), f"Feature {name}"))\n', "",
        f"{REFUSALS}::test_a_resume_in_another_checkout_names_the_holders_pid",
    ),
    Mechanism(
        "two loops in one checkout", "the checkout's lock, whatever is worked on", "aigon/job/job.py",
        'return hold_lock(find_checkout_lock(home, root), "This checkout")',
        "import contextlib\n\n    return contextlib.nullcontext()",
        f"{REFUSALS}::test_a_loop_on_another_feature_of_the_checkout_names_the_holders_pid",
    ),
    Mechanism(
        "spec edited by a person", "an edit waits for a word", "aigon/run/resume.py",
        "    if not (opening.options.accept_spec or opening.confirm(question)):", "    if False:",
        f"{RESUME}::test_a_spec_that_a_person_edited_is_shown_and_waits_for_a_word",
    ),
    Mechanism(
        "odd paths", "a path with a line end in git's configuration", "aigon/git/trusted.py",
        '.replace("\\n", "\\\\n")', "", f"{ROWS}/test_places.py::test_a_repository_may_have_any_name[with\\na line]",
    ),
    Mechanism(
        "odd paths", "a path with a line end in what git says", "aigon/git/person.py",
        "if len(answers) > len(asked):", "if False:",
        f"{ROWS}/test_places.py::test_a_repository_may_have_any_name[with\\na line]",
    ),
    Mechanism(
        "LFS", "git-lfs that is missing is named", "aigon/git/trusted.py",
        'if not shutil.which("git-lfs"):', "if False:", f"{REFUSALS}::test_lfs_without_git_lfs_is_refused_by_name",
    ),
)  # fmt: skip
RECORDS = (
    Mechanism(
        "damaged state file", "it is kept as .corrupt", "aigon/run/record_repair.py",
        "kept = keep_damaged(path)", "kept = path",
        f'{REPAIR}::test_a_resume_keeps_a_damaged_state_file_and_writes_all_iterations_anew'
        '[{"schema_version": 1, "feature]',
    ),
    Mechanism(
        "damaged journal", "it is kept as .corrupt", "aigon/run/record_repair.py",
        "    kept = keep_damaged(path)\n", "    kept = path\n", DAMAGED,
    ),
    Mechanism(
        "damaged journal", "the journal says that a part of it is lost", "aigon/run/repair.py",
        "for event in (*_list_published(state, checkout), mark))", "for event in _list_published(state, checkout))",
        DAMAGED,
    ),
    Mechanism(
        "damaged journal", "no number of an iteration is given twice", "aigon/journal/state.py",
        "finished = max(self.last_number, event.number)", "finished = self.last_number", DAMAGED,
    ),
    Mechanism(
        "damaged journal", "what was lost counts as unknown cost", "aigon/journal/state.py",
        "spend=self.spend.plus(event.usd).plus(None)", "spend=self.spend.plus(event.usd)", DAMAGED,
    ),
    Mechanism(
        "damaged journal", "checkpoints in what is left of it are aigon's own", "aigon/loop/take.py",
        "messages(state.checkpoint, found, state.regained)", "messages(state.checkpoint, found)",
        f"{REPAIR}::test_a_repaired_run_is_proven_only_by_a_look_of_its_own",
    ),
    Mechanism(
        "newer version", "its state file is refused", "aigon/run/record_repair.py",
        'if inspect_state_file(state_file) == "newer":', "if False:",
        f"{REPAIR}::test_a_state_file_of_a_newer_version_is_refused_before_anything_is_written[False-arguments1]",
    ),
    Mechanism(
        "kill -9 of the loop", "what an agent committed before it is looked at as an agent's", "aigon/run/resume.py",
        "suspect=state.checkpoint if suspect and tip", 'suspect="" if tip',
        f"{RESUME}::test_what_an_agent_committed_before_a_kill_is_still_looked_at_as_an_agents[in the turn]",
    ),
    Mechanism(
        "kill -9 of the loop", "aigon knows what it wrote before it intended a checkpoint", "aigon/loop/take.py",
        "if world.workspace.wrote(path, there):", "if False:",
        f"{RESUME}::"
        "test_what_aigon_wrote_for_an_unintended_commit_is_no_edit_of_the_agents[1]",
    ),
    Mechanism(
        "a file staged and changed in one moment", "a copy of the index is as old as the index",
        "aigon/git/locks.py", "    _copy_times(index, target)\n", "", f"{INDEX}[copied]",
    ),
    Mechanism(
        "a file staged and changed in one moment", "so is what a lock holds", "aigon/git/locks.py",
        "                _copy_times(new, draft)\n", "                pass\n", f"{INDEX}[locked]",
    ),
)  # fmt: skip
KEPT_IN = (
    Mechanism(
        "secrets", "events are redacted where all of them pass", "aigon/loop/loop.py",
        "        event = redact_value(event, self.redact)\n        after", "        after",
        "tests/loop/test_drive.py::test_nobody_is_told_a_secret_and_the_state_does_not_know_it_either",
    ),
    Mechanism(
        "secrets", "an agent's environment is filtered", "aigon/loop/turn.py",
        "filter_environment(world.agent_env, agent, adapter.kind)", "dict(world.agent_env)",
        f"{SECRETS}::test_an_agent_sees_no_credential_but_those_let_through_and_their_names_are_said",
    ),
    Mechanism(
        "secrets", "the snapshot is kept free of them", "aigon/loop/take.py",
        "        unstage(git, parent, [*found])\n", "        pass\n",
        f"{SECRETS}::test_a_secret_gets_into_no_commit[in UTF-16]",
    ),
    Mechanism(
        "secrets", "an agent's own commits are written again without them", "aigon/loop/take.py",
        "parent = rewrite_without_secrets(job, world, state.checkpoint, found)", "parent = found",
        f"{SECRETS}::test_a_secret_gets_into_no_commit[forced]",
    ),
    Mechanism(
        "what an agent can reach", "bubblewrap: nothing can be written but what is granted",
        "aigon/isolation/mounts.py", '("ro-bind", "/", "/")', '("bind", "/", "/")', f"{DENIED}[bwrap]",
    ),
    Mechanism(
        "what an agent can reach", "namespaces: nothing can be written but what is granted",
        "aigon/isolation/mounts.py", '[("ro-bind", "/", "/"), ', "[", f"{DENIED}[namespaces]",
    ),
    Mechanism(
        "what an agent can reach", "Landlock: nothing can be written but what is granted",
        "aigon/isolation/landlock.py",
        "        for path in list_beside(hidden):\n            rules.allow(path, TO_READ)",
        "        for path in list_beside(hidden):\n            rules.allow(path, rights)",
        f"{DENIED}[landlock]",
    ),
    *(
        Mechanism(
            "what an agent can reach", f"{mechanism}: {name}", "aigon/isolation/run_sandbox.py", text, instead,
            f"{SANDBOX}::{test}[{mechanism}]",
        )
        for mechanism in ("bwrap", "namespaces", "landlock")
        for name, text, instead, test in (
            ("a turn is run in it", "return self.box.command(argv, root, ", "return Program(argv); (", CURIOUS),
            ("the person's home is another one", "        own=own,\n", "", CURIOUS),
            ("aigon's records are hidden", "        hidden=hidden,\n", "", GRANTED),
        )
    ),
    Mechanism(
        "huge files", "a file's size is asked before it is read", "aigon/files/atomic.py",
        "if seen.st_size > largest:", "if False:",
        "tests/fuzz/test_sizes.py::test_a_huge_file_is_refused_by_its_size_and_not_read",
    ),
    Mechanism(
        "huge files", "a report that is too large is no pass", "aigon/checks/reports.py",
        'return len(content or b"") > LARGEST', "return False",
        "tests/fuzz/test_sizes.py::test_a_report_that_is_too_large_is_an_error_that_says_so_and_never_a_pass",
    ),
)  # fmt: skip
ROOM = (
    Mechanism(
        "agent hangs", "one that is silent is ended before its deadline", "aigon/process/run.py",
        "elif waiting.idle is not None and waiting.idle.over():", "elif False:",
        f"{PROCESSES}::test_an_agent_that_falls_silent_is_ended_before_its_deadline_if_asked_for",
    ),
    Mechanism(
        "aigon and its guardian are killed", "a resume ends what they left", "aigon/run/session.py",
        "ended = invocations.end_processes(left)", "ended = 0",
        "tests/loop/test_leftovers.py::test_a_resume_ends_what_was_left_of_its_feature_and_says_so",
    ),
    Mechanism(
        "aigon and its guardian are killed", "a process is known by when it started", "aigon/process/running.py",
        "return bool(process.start) and read_start(process.pid) == process.start",
        "return bool(read_start(process.pid))",
        "tests/loop/test_leftovers.py::test_a_number_that_was_given_out_anew_is_nobody_of_ours",
    ),
    Mechanism(
        "disk full", "the history of the run says what the next turn needs", "aigon/loop/guards/limits.py",
        "limits.disk_free, state.greed if limits.by_history else {})", "limits.disk_free, {})",
        "tests/model/test_room.py::"
        "test_no_turn_begins_if_less_is_free_than_the_greediest_took",
    ),
    Mechanism(
        "disk full", "a look that had no room decides nothing", "aigon/loop/publish.py",
        "    require_room(world.meter, look)\n", "",
        "tests/faults/disk/test_full_disk.py::"
        "test_a_check_that_fails_on_a_full_disk_is_no_failure_of_the_agent_s[workspace]",
    ),
    Mechanism(
        "disk read-only", "a run's folder is seen before HEAD moves", "aigon/run/session.py",
        '    require_writable("A run cannot begin", *(root / ".aigon" for root in {checkout.root, seat.main}))\n', "",
        "tests/faults/disk/test_read_only.py::test_a_read_only_disk_is_seen_before_a_turn_is_paid_for[logs]",
    ),
)  # fmt: skip
BUILT = (
    Mechanism(
        "every criterion passes at the base", "what passes without a change is not met", "aigon/loop/decide.py",
        "    if look and proven and _was_proved(demand, look) and not is_hollow(demand, look, worked=state.worked):\n",
        "    if look and proven and _was_proved(demand, look):\n",
        "tests/loop/test_decide.py::test_what_passed_at_the_base_and_changed_nothing_is_for_a_person[limits0]",
    ),
    Mechanism(
        "every criterion passes at the base", "nothing is met without the proof", "aigon/loop/decide.py",
        "    if look and proven and _was_proved(demand, look) and", "    if look and proven and",
        "tests/loop/test_decide.py::test_without_a_proof_nothing_is_proven",
    ),
    Mechanism(
        "every criterion passes at the base", "a turn that is assessed counts", "aigon/proof/prove.py",
        "worked=state.worked)", "worked=state.used > 0)",
        "tests/loop/test_nothing_built.py::test_a_turn_that_only_mends_a_check_is_proven_like_any_other",
    ),
)  # fmt: skip
MECHANISMS = (*BUILT, *KILLED, *POWER, *STOPPED, *MEANWHILE, *RECORDS, *KEPT_IN, *ROOM)
