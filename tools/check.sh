#!/usr/bin/env bash
# check.sh LINTER: lints, vets and tests (-short) the Go packages of the main module that differ from main, committed or not.
set -euo pipefail
cd "$(dirname "$0")/.."
linter=$1

base=$(git merge-base HEAD main 2>/dev/null || git merge-base HEAD origin/main 2>/dev/null || git rev-parse HEAD)
if [ "$base" = "$(git rev-parse HEAD)" ] && [ -z "$(git status --porcelain)" ]; then
  base=$(git rev-parse HEAD~1) # on main itself, with nothing to commit: the last commit
fi

mapfile -t changed < <({ git diff --name-only --diff-filter=d "$base" -- '*.go'; git ls-files --others --exclude-standard -- '*.go'; } |
  grep -vE '^(gen|bench|tools)/|^test/queries/' | xargs -r -n1 dirname | sort -u | sed 's|^|./|')
packages=()
for folder in ${changed[@]+"${changed[@]}"}; do
  if go list "$folder" >/dev/null 2>&1; then packages+=("$folder"); fi
done
if [ "${#packages[@]}" = 0 ]; then
  echo "no Go package differs from $(git rev-parse --short "$base")"
  exit 0
fi

echo "checking ${packages[*]}"
"$linter" run "${packages[@]}" # It vets them, too.
go test -short -vet=off "${packages[@]}"
