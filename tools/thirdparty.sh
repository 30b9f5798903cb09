#!/usr/bin/env bash
# Fetches programs and libraries that others made for Consul into a folder, for `make thirdparty`: thirdparty.sh FOLDER. Each gets a folder of its
# own; what cannot be fetched has none, and is named. Nothing of them becomes a part of Tenure.
set -uo pipefail
folder=$(realpath --canonicalize-missing "$1")
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

# python PACKAGE VERSION REQUIREMENT...; a folder is named after the package, without its extras.
python() {
  local name=${1%%[*}
  timeout 300 python3 -m pip install --quiet --no-input --disable-pip-version-check --target "$folder/$name.new" "$1==$2" "${@:3}"
}

npm_package() {
  mkdir -p "$folder/npm-$1.new" && (cd "$folder/npm-$1.new" && timeout 300 npm install --silent --no-audit --no-fund --ignore-scripts "$1@$2")
}

go_program() {
  local name=${1##*/}
  mkdir -p "$folder/$name.new" && GOBIN=$folder/$name.new CGO_ENABLED=0 timeout 1500 go install "$1@$2"
}

# maven FOLDER GROUP:ARTIFACT:VERSION fetches a library and what it needs.
maven() {
  local into=$folder/$1.new
  IFS=: read -r group artifact version <<<"$2"
  mkdir -p "$into" && cat >"$into/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>thirdparty</groupId><artifactId>thirdparty</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>$group</groupId><artifactId>$artifact</artifactId><version>$version</version></dependency>
  </dependencies>
</project>
POM
  timeout 300 mvn --quiet --batch-mode --file "$into/pom.xml" dependency:copy-dependencies -DoutputDirectory="$into"
}

fetch consul "$(dirname "$0")/consul.sh" "$folder/consul.new"
fetch py-consul python py-consul 1.8.0
fetch python-consul2 python python-consul2 0.1.5
fetch python-consul python python-consul 1.1.0
fetch consulate python consulate 0.6.0
fetch npm-consul npm_package consul 2.0.1
fetch consul-template go_program github.com/hashicorp/consul-template v0.41.1
fetch patroni python 'patroni[consul]' 4.1.5 'psycopg[binary]==3.3.9'
fetch ecwid maven ecwid com.ecwid.consul:consul-api:1.4.5
fetch orbitz maven orbitz com.orbitz.consul:consul-client:1.5.3
fetch kiwiproject maven kiwiproject org.kiwiproject:consul-client:1.12.1
