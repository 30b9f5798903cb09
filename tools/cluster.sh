#!/usr/bin/env bash
# Runs a cluster of three members on this machine, until Ctrl-C stops all of them.
#
#   tools/cluster.sh TENURE [DATA-DIR]
#
# Members listen on 127.0.0.1: gRPC on 7400, 7410 and 7420, HTTP one above, peers two above; CLUSTER_PORT sets the first.
# Without DATA-DIR all data is lost at the end. With it, a second start continues with the data of the first.
set -euo pipefail

tenure=$1
data=${2:-}
base=${CLUSTER_PORT:-7400}
if [ -z "$data" ]; then
  data=$(mktemp -d "${TMPDIR:-/tmp}/tenure-cluster-XXXXXX")
  remove=$data
fi
mkdir -p "$data"

cluster=
endpoints=
for i in 0 1 2; do
  cluster+=${cluster:+,}tenure-$((i + 1))=127.0.0.1:$((base + 10 * i + 2))
  endpoints+=${endpoints:+,}127.0.0.1:$((base + 10 * i))
done

members=()
finish() {
  trap - EXIT INT TERM
  # The signal to stop; a member that has ended already needs none.
  for pid in "${members[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
  for pid in "${members[@]}"; do wait "$pid" 2>/dev/null || true; done
  if [ -n "${remove:-}" ]; then rm -rf "$remove"; fi
}
trap finish EXIT
trap 'exit 0' INT TERM

for i in 0 1 2; do
  name=tenure-$((i + 1))
  "$tenure" serve --name "$name" --data-dir "$data/$name" --initial-cluster "$cluster" \
    --listen "127.0.0.1:$((base + 10 * i))" --http "127.0.0.1:$((base + 10 * i + 1))" \
    --peer "127.0.0.1:$((base + 10 * i + 2))" >"$data/$name.out" 2>"$data/$name.log" &
  members+=($!)
done

# A member prints its addresses when it serves.
for i in 0 1 2; do
  name=tenure-$((i + 1))
  until grep -q '^tenure: serving' "$data/$name.out" 2>/dev/null; do
    if ! kill -0 "${members[$i]}" 2>/dev/null; then
      echo "error: $name did not start:" >&2
      tail -n 20 "$data/$name.log" >&2
      if grep -q 'already in use' "$data/$name.log"; then
        echo "To use other ports: CLUSTER_PORT=$((base + 100)) make cluster" >&2
      fi
      exit 1
    fi
    sleep 0.1
  done
done

# A new cluster has version 1 until each member has reported what it supports. Then it has the newest, and with it the catalog.
for _ in $(seq 100); do
  if "$tenure" status --endpoints "127.0.0.1:$base" -o json 2>/dev/null | grep -q '"clusterVersion": *[2-9]'; then break; fi
  sleep 0.1
done

cat <<END
Three members are running. Their logs: $data/tenure-*.log
In other terminals:

  export PATH=$(dirname "$tenure"):\$PATH
  export TENURE_ENDPOINTS=$endpoints
  tenure status
  tenure lock jobs/nightly -- sleep 60
  kill -9 ${members[0]}                                    # kill the first member; the others continue
  tenure serve --name tenure-1 --data-dir $data/tenure-1 --initial-cluster $cluster \\
    --listen 127.0.0.1:$base --http 127.0.0.1:$((base + 1)) --peer 127.0.0.1:$((base + 2))    # restart it, in another terminal
  (umask 077; tenure member add tenure-4 > token)    # make a token with which a fourth member joins
  tenure serve --name tenure-4 --join 127.0.0.1:$((base + 2)),127.0.0.1:$((base + 12)) --join-token-file token \\
    --data-dir $data/tenure-4 --listen 127.0.0.1:$((base + 30)) --http 127.0.0.1:$((base + 31)) --peer 127.0.0.1:$((base + 32))
  curl http://127.0.0.1:$((base + 11))/v1/status

Ctrl-C stops the three members${remove:+ and removes their data}. Stop a member that you started yourself first, with its own Ctrl-C.
END
# Bash would tell at length of a member that was killed.
wait 2>/dev/null
