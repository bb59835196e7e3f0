#!/usr/bin/env bash
# A small orchestrator that survives kill -9: started again, it goes on with the phase that it died in.
#   PIPESTATE=pipestate orchestrator.sh WORKSPACE
set -euo pipefail
pipestate=${PIPESTATE:-pipestate}
workspace=$(realpath "${1:-.}")
tier=tier_1
phases=(collect write review)
mkdir -p "$workspace/out"
cd "$workspace"

# The phases. Each may be done twice, as any phase may that its orchestrator can die in.
collect() { sleep 0.03; printf 'added: a lock\nfixed: torn files\n' > out/changes.txt; output=out/changes.txt; }
write() { sleep 0.03; { printf '# Notes\n\n'; sed 's/^/- /' out/changes.txt; } > out/notes.md; output=out/notes.md; }
review() { sleep 0.03; echo approved > out/review.txt; output=out/review.txt; }

# One orchestrator in a workspace. The kernel drops this lock when the shell and all that it started have ended, so whoever
# has it knows that a run which says "running" has nobody at work on it, however short a time ago that was written.
exec 9> orchestrator.lock
flock --timeout 10 9 || { echo "another orchestrator is at work in $workspace" >&2; exit 1; }

# A line for every run that is found, the decision first, then why; a run of a dead orchestrator is one to ask about.
found=$("$pipestate" recover --scan "$workspace" --no-user --stale-after 0s) || true # 1: there is something to decide
file=$(sed -n 's|^ask .* \(/.*/pipeline-state\.json\): .*|\1|p; T; q' <<< "$found")
if [ -n "$file" ]; then
  "$pipestate" resume "$file" --tier "$tier" --confirm --stale-after 0s
else
  file=$("$pipestate" init --name release-notes --pattern 1 --tier "$tier" "${phases[@]/#/--phase=}")
fi

for index in "${!phases[@]}"; do
  [ "$("$pipestate" get "$file" "/phases/$index/status")" = '"done"' ] && continue
  "$pipestate" phase "$file" "$index" --status running
  if "${phases[$index]}"; then
    "$pipestate" phase "$file" "$index" --status done --output "$output"
    echo "${phases[$index]}: done"
  else
    "$pipestate" phase "$file" "$index" --status failed --error "exit $?"
    exit 1
  fi
done
"$pipestate" finalize "$file"
echo "completed $file"
