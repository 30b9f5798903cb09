#!/usr/bin/env bash
# Runs every Go fuzz target for a while: fuzz.sh TIME (as in 30s)
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-30s}

ran=0
while IFS=: read -r file target; do
  echo "fuzz: $target in $(dirname "$file") for $time"
  # Whoever starts a store has new coverage each time; without a bound all the time goes into making inputs smaller.
  go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x "./$(dirname "$file")"
  ran=$((ran + 1))
done < <(git grep --untracked -oE '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' | sed 's/func //' | sort)

if [ "$ran" = 0 ]; then
  echo "fuzz: no targets"
fi
