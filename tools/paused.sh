#!/usr/bin/env bash
# Runs a command whose processes all stand still for three to five seconds, again and again, as on a machine that is
# paused. A test that uses real time has to pass all the same:
#
#   tools/paused.sh go test -count=1 ./cmd/tenure
#
# It needs Linux with the freezer of cgroups (either version), and permission to make a cgroup: root.
set -euo pipefail

if [ "$#" = 0 ] || [ "$1" = --help ]; then
  sed -n '2,/^set /p' "$0" | sed -n 's/^# \{0,1\}//p'
  exit 2
fi

name=tenure-paused-$$
if [ -d /sys/fs/cgroup/freezer ]; then
  group=/sys/fs/cgroup/freezer/$name procs=cgroup.procs
  still() { echo "$([ "$1" = 1 ] && echo FROZEN || echo THAWED)" >"$group/freezer.state"; }
elif [ -f /sys/fs/cgroup/cgroup.controllers ]; then
  group=/sys/fs/cgroup/$name procs=cgroup.procs
  still() { echo "$1" >"$group/cgroup.freeze"; }
else
  echo "error: no freezer of cgroups found under /sys/fs/cgroup" >&2
  exit 1
fi
mkdir "$group" || {
  echo "error: a cgroup cannot be made under /sys/fs/cgroup: run this as root" >&2
  exit 1
}

# clean continues and ends what the command left, and removes the group.
clean() {
  still 0
  for _ in $(seq 50); do
    xargs -r kill -KILL <"$group/$procs" 2>/dev/null || true
    rmdir "$group" 2>/dev/null && return
    sleep 0.1
  done
}
trap clean EXIT

(
  echo "$BASHPID" >"$group/$procs"
  exec "$@"
) &
job=$!
trap 'kill -INT "$job" 2>/dev/null || true' INT TERM

# seconds prints a random number of them between two numbers of milliseconds.
seconds() {
  local ms=$(($1 + (RANDOM << 15 | RANDOM) % ($2 - $1 + 1)))
  printf '%d.%03d' $((ms / 1000)) $((ms % 1000))
}

pauses=0
while kill -0 "$job" 2>/dev/null; do
  sleep "$(seconds 4000 12000)"
  kill -0 "$job" 2>/dev/null || break
  still 1
  sleep "$(seconds 3000 5000)"
  still 0
  pauses=$((pauses + 1))
done
rc=0
wait "$job" || rc=$?
echo "paused $pauses times" >&2
exit "$rc"
