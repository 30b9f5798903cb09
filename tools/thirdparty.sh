#!/usr/bin/env bash
# Fetches programs and libraries that others made for Consul into a folder, for `make thirdparty`: thirdparty.sh FOLDER [NAME...]. Each gets a folder
# of its own; what cannot be fetched has none, and is named. With names, only these are fetched. Nothing of them becomes a part of Tenure.
set -uo pipefail
folder=$(realpath --canonicalize-missing "$1")
wanted=" ${*:2} "
mkdir -p "$folder"

# fetch NAME COMMAND... runs a command that fills the folder NAME.new, which becomes NAME if it succeeds.
fetch() {
  local name=$1
  shift
  if [ "$wanted" != "  " ] && [[ $wanted != *" $name "* ]]; then return; fi
  [ -d "$folder/$name" ] && return
  rm -rf "$folder/$name.new"
  if "$@" >"$folder/$name.log" 2>&1; then
    mv "$folder/$name.new" "$folder/$name"
  else
    echo "skipped: $name could not be fetched: $(tail -n 1 "$folder/$name.log")" >&2
  fi
}

# python PACKAGE VERSION SHA256 REQUIREMENT...; a folder is named after the package, without its extras.
python() {
  local into=$folder/${1%%[*}.new
  timeout 300 python3 -m pip install --quiet --no-input --disable-pip-version-check --no-cache-dir --target "$into" --report "$into.json" "$1==$2" "${@:4}" &&
    expect "$3" "$into.json" && rm "$into.json"
}

# npm_package PACKAGE VERSION INTEGRITY
npm_package() {
  local into=$folder/npm-$1.new
  mkdir -p "$into" && (cd "$into" && timeout 300 npm install --silent --no-audit --no-fund --ignore-scripts "$1@$2") &&
    expect "$3" "$into/node_modules/.package-lock.json"
}

# expect SUM FILE requires that a package manager has verified this checksum, by what it wrote about what it installed.
expect() {
  grep --quiet --fixed-strings "$1" "$2" || {
    echo "it does not have the checksum $1"
    return 1
  }
}

# The checksums of Go's programs are those of Go's checksum database.
go_program() {
  local name=${1##*/}
  mkdir -p "$folder/$name.new" && GOBIN=$folder/$name.new CGO_ENABLED=0 timeout 1500 go install "$1@$2"
}

# maven FOLDER GROUP:ARTIFACT:VERSION:SHA256... fetches libraries and what they need.
maven() {
  local into=$folder/$1.new library dependencies= sums=
  for library in "${@:2}"; do
    IFS=: read -r group artifact version sum <<<"$library"
    sums+="$sum  $into/$artifact-$version.jar"$'\n'
    dependencies+="<dependency><groupId>$group</groupId><artifactId>$artifact</artifactId><version>$version</version></dependency>"
  done
  mkdir -p "$into" && cat >"$into/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>thirdparty</groupId><artifactId>thirdparty</artifactId><version>1</version>
  <dependencies>$dependencies</dependencies>
</project>
POM
  timeout 300 mvn --quiet --batch-mode --file "$into/pom.xml" dependency:copy-dependencies -DoutputDirectory="$into" &&
    sha256sum --check --quiet - <<<"${sums%$'\n'}"
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
fetch py-consul python py-consul 1.8.0 242f45d66c97224ecd04ba1dd4eb71053ed5a38dc7bb9b9387d2a882f7352d59
fetch python-consul2 python python-consul2 0.1.5 ff8c6642c5a8d5f13a072e90adbad44cde824fc46fb2ab76b40dd1c77d6c0c41
fetch python-consul python python-consul 1.1.0 eeaaeeae87807ad1bc0d476ca3a9c53823ed5d514832951acebeca671eb54b20
fetch consulate python consulate 0.6.0 78a839e71e62ea8b725b60740ef3ba282a6af7f7db4df83546ee4e762810d757
fetch npm-consul npm_package consul 2.0.1 sha512-91ExUUelOJ1yyB0etYAR0w1p6Ues1VosEyBVxPcWJdnQDTKqAEFzL0MHfOqZWYI2d4HZ4FgotHZkAPW2A/xahA==
fetch consul-template go_program github.com/hashicorp/consul-template v0.41.1
fetch patroni python 'patroni[consul]' 4.1.5 7aad8c1539e6c51c269a8005169dd54ddc7668437b7900fa6099d7894e224c84 'psycopg[binary]==3.3.9'
fetch ecwid maven ecwid com.ecwid.consul:consul-api:1.4.5:b2ff1bb292a68314d3cf2fe45eb74f9ee269b1ce8cd2b6e4ec1093bf4ad38605
fetch orbitz maven orbitz com.orbitz.consul:consul-client:1.5.3:b127fcdd7d0511933c25593726d44d98799dd7dd55fcddd6342d43a91835311a
fetch kiwiproject maven kiwiproject org.kiwiproject:consul-client:1.12.1:2780a895f86bcdb47eec6923f169ad4a07f61ffe8b5b204027989b2b562a1705
fetch vertx maven vertx io.vertx:vertx-consul-client:5.0.8:e566b8751af859124bb10871b8f08c6dd770bd364f2b3162e9b6e59e6dc187aa
fetch camel maven camel org.apache.camel:camel-consul:4.17.0:58b6f204d6aec79efbda27c78ad7b41f1efa83518b3c7da45191b5f24ff4f414 \
  org.apache.camel:camel-core:4.17.0:1710421aef697762723ea97dc6abb5777df5ff6743b39c06f0c37475b7528e9b
spring=org.springframework.cloud:spring-cloud-starter-consul
fetch spring maven spring $spring-discovery:5.0.2:42cbcae10631d0df7e776c1fcc43f6f0d86ec3a59213d1c404612444d111921d \
  $spring-config:5.0.2:8bfb702a23977376cae0f9f727a102357ec5f353d6a20bc5d4c91a5766c1f0db \
  org.springframework.boot:spring-boot-starter-web:4.0.7:1ac009b240450c089df7ef1e5cc9b63df292bea22393ed5c7deca42c85944e3c
fetch opentofu opentofu v1.12.6 github.com/hashicorp/hcl/v2@v2.20.1=github.com/opentofu/hcl/v2@v2.20.2-0.20251021132045-587d123c2828
