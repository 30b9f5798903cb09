#!/usr/bin/env bash
# Fetches programs and libraries that others made for Consul into a folder, for `make thirdparty`: thirdparty.sh FOLDER. Each gets a folder of its
# own; what cannot be fetched has none, and is named. Nothing of them becomes a part of Tenure.
set -uo pipefail
folder=$1
mkdir -p "$folder"

# fetch NAME COMMAND... runs a command that fills the folder NAME.new, which becomes NAME if it succeeds.
fetch() {
  local name=$1
  shift
  [ -d "$folder/$name" ] && return
  rm -rf "$folder/$name.new"
  if "$@" >"$folder/$name.log" 2>&1; then
    mv "$folder/$name.new" "$folder/$name"
  else
    echo "skipped: $name could not be fetched: $(tail -n 1 "$folder/$name.log")" >&2
  fi
}

python() {
  timeout 300 python3 -m pip install --quiet --no-input --disable-pip-version-check --target "$folder/$1.new" "$1==$2"
}

npm_package() {
  mkdir -p "$folder/npm-$1.new" && (cd "$folder/npm-$1.new" && timeout 300 npm install --silent --no-audit --no-fund --ignore-scripts "$1@$2")
}

fetch consul "$(dirname "$0")/consul.sh" "$folder/consul.new"
fetch py-consul python py-consul 1.8.0
fetch python-consul2 python python-consul2 0.1.5
fetch python-consul python python-consul 1.1.0
fetch consulate python consulate 0.6.0
fetch npm-consul npm_package consul 2.0.1
