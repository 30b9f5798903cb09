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

# maven FOLDER GROUP:ARTIFACT:VERSION... fetches libraries and what they need.
maven() {
  local into=$folder/$1.new library dependencies=
  for library in "${@:2}"; do
    IFS=: read -r group artifact version <<<"$library"
    dependencies+="<dependency><groupId>$group</groupId><artifactId>$artifact</artifactId><version>$version</version></dependency>"
  done
  mkdir -p "$into" && cat >"$into/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>thirdparty</groupId><artifactId>thirdparty</artifactId><version>1</version>
  <dependencies>$dependencies</dependencies>
</project>
POM
  timeout 300 mvn --quiet --batch-mode --file "$into/pom.xml" dependency:copy-dependencies -DoutputDirectory="$into"
}

# opentofu VERSION REPLACE... builds OpenTofu, from a module of ours that repeats what its own module replaces.
opentofu() {
  local into=$folder/opentofu.new module=github.com/opentofu/opentofu
  mkdir -p "$into" && (
    cd "$into" && go mod init thirdparty && go mod edit -require "$module@$1" && for replaced in "${@:2}"; do go mod edit -replace "$replaced" || exit; done &&
      CGO_ENABLED=0 timeout 1500 go build -mod=mod -ldflags='-s -w' -o tofu "$module/cmd/tofu"
  )
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
fetch vertx maven vertx io.vertx:vertx-consul-client:5.0.8
fetch camel maven camel org.apache.camel:camel-consul:4.17.0 org.apache.camel:camel-core:4.17.0
spring=org.springframework.cloud:spring-cloud-starter-consul
fetch spring maven spring "$spring-discovery:5.0.2" "$spring-config:5.0.2" org.springframework.boot:spring-boot-starter-web:4.0.7
fetch opentofu opentofu v1.12.6 github.com/hashicorp/hcl/v2@v2.20.1=github.com/opentofu/hcl/v2@v2.20.2-0.20251021132045-587d123c2828
