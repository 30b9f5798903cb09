#!/usr/bin/env bash
# Fetches Consul's own program, as Debian 11 has it, into a folder, for the tests that run it against Tenure: consul.sh FOLDER. It is run as a
# client only, and nothing of it becomes a part of Tenure. Debian's own tools fetch it, with lists of their own, so that nothing is installed.
set -euo pipefail
folder=$1
version=1.8.7+dfsg1-2+b3
sum=e4e888bba104daba1d9161f49bfc52649a7e4efd45b1a7ead5bc54f2cb9c89d9
keys=/usr/share/keyrings/debian-archive-keyring.gpg

[ -x "$folder/usr/bin/consul" ] && exit 0
for program in apt-get dpkg sha256sum; do
  command -v "$program" >/dev/null || { echo "$program is not installed" >&2; exit 1; }
done
[ "$(dpkg --print-architecture)" = amd64 ] || { echo "there is a checksum for amd64 only" >&2; exit 1; }
[ -e $keys ] || { echo "the keys of Debian's archive are not installed" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/sources"
: >"$work/status"
cat >"$work/sources/bullseye.sources" <<END
Types: deb
URIs: http://deb.debian.org/debian
Suites: bullseye
Components: main
Signed-By: $keys
END
cat >"$work/apt.conf" <<END
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$work/sources";
Dir::State "$work";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
APT::Sandbox::User "root";
END
export APT_CONFIG=$work/apt.conf
cd "$work"
timeout 300 apt-get -qq update
timeout 300 apt-get -qq download "consul=$version"
echo "$sum  $(ls consul_*.deb)" | sha256sum --check --quiet -
mkdir -p "$folder"
dpkg -x consul_*.deb "$folder"
