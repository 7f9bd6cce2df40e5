#!/usr/bin/env bash
# A command agent. aigon runs it once per iteration, with the prompt on standard input and the work tree as the
# working directory. Whatever it leaves in the tree is checked and committed; what it prints goes to the run folder.
# Exit 0 says that the turn is over, never that the work is done; any other exit code is a failed turn.
set -euo pipefail

echo "feature $AIGON_FEATURE, iteration $AIGON_ITERATION, run $AIGON_RUN"
echo "spec:   $AIGON_SPEC"
echo "prompt: $AIGON_PROMPT_FILE"
echo "limit:  iteration $AIGON_TURN_LIMIT, model ${AIGON_TURN_MODEL:-any}, effort ${AIGON_TURN_EFFORT:-any}"

# Put your agent here, for example:
#   exec my-agent --prompt-file "$AIGON_PROMPT_FILE"
echo "no agent yet: edit .aigon/agents/my-agent.sh" >&2
exit 1
