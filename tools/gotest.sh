#!/usr/bin/env bash
# gotest.sh DIR FLAGS... -- PACKAGES...: runs go test and keeps the test programs under DIR. A program is linked again only when something in it
# has changed, which go test does each time otherwise: a second of CPU for each package. Packages with the same last name get folders of their own.
set -euo pipefail
dir=$1 flags=()
shift
while [ "$1" != -- ]; do
  flags+=("$1")
  shift
done
shift

# One line for each folder of DIR: the packages that go into it, in the order given.
groups=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "$@" |
  awk -F / 'NF { n = ++seen[$NF]; line[n] = line[n] " " $0; if (n > most) most = n } END { for (n = most; n; n--) print n line[n] }')
if [ -z "$groups" ]; then
  echo "no tests in $*"
  exit 0
fi
failed=0
while read -r n packages; do
  mkdir -p "$dir/$n"
  # -s -w as go test links what it does not keep: without the tables that only debuggers read.
  # shellcheck disable=SC2086 # They are separate words.
  go test -ldflags '-s -w' -o "$dir/$n/" "${flags[@]}" $packages || failed=1
done <<<"$groups"
exit "$failed"
