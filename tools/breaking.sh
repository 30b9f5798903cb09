#!/usr/bin/env bash
# Compares proto/ with what users have: breaking.sh PATH_TO_BUF
#
# The baseline is the newest release tag. Without one it is main, or on main the commit before. From the tag v0.1.0 on a
# breaking change is an error; until then it is only printed.
set -euo pipefail
cd "$(dirname "$0")/.."
buf=$1

strict=false
if git rev-parse --quiet --verify 'refs/tags/v0.1.0^{commit}' >/dev/null 2>&1; then
  strict=true
fi

# baseline prints the commit to compare with, or nothing: in a first commit, a clone of depth 1, or no repository at all.
baseline() {
  local head commit ref
  head=$(git rev-parse --quiet --verify 'HEAD^{commit}' 2>/dev/null) || return 0
  ref=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null) || true
  for ref in ${ref:+"$ref"} origin/main main 'HEAD~1'; do
    commit=$(git rev-parse --quiet --verify "$ref^{commit}" 2>/dev/null) || continue
    if [ "$commit" != "$head" ] && git cat-file -e "$commit:proto/tenure" 2>/dev/null; then
      echo "$commit"
      return 0
    fi
  done
}

against=$(baseline)
if [ -z "$against" ]; then
  echo "breaking: no earlier protos to compare with"
  exit 0
fi

# A copy of the files, so that a shallow clone or a detached work tree will do.
old=.build/breaking
rm -rf "$old"
mkdir -p "$old"
git archive "$against" proto buf.yaml | tar -x -C "$old"

echo "breaking: compared with $(git log -1 --format='%h %s' "$against")"
rc=0
"$buf" breaking --against "$old" || rc=$?
if [ "$rc" = 0 ]; then
  echo "breaking: nothing breaks"
elif [ "$rc" != 100 ]; then
  echo "error: buf could not compare" >&2
  exit "$rc"
elif [ "$strict" = true ]; then
  echo "error: these changes break users of a release" >&2
  exit 1
else
  echo "breaking: printed only, because v0.1.0 is not released"
fi
