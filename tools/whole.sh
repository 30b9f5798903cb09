#!/usr/bin/env bash
# whole.sh COMMAND...: runs a command, and prints what it said when it has ended, or has been stopped: its lines stay together where
# several run beside each other.
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
trap : TERM # The command gets it, too, and ends.
"$@" >"$log" 2>&1
rc=$?
cat "$log"
exit "$rc"
