package cluster_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// consulReads are reads of Consul's HTTP that have an index, of what is there and of what is not.
var consulReads = []string{
	"kv/there", "kv/missing", "kv/p/?recurse", "kv/p/?keys", "kv/none/?recurse", "session/list", "catalog/nodes", "catalog/services", "health/service/none",
	"query", "query/00000000-0000-0000-0000-000000000001",
}

// indexes are the indexes that reads have had so far.
type indexes map[string]uint64

// A client of Consul compares indexes: none is 0, and none is lower than one that any member has answered before, whatever happens to the cluster.
// A wait with an index from before ends with the next change.
func TestIndexesOfConsulsReadsNeverGoBack(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const flag, address = "--consul-http", "127.0.0.1:0"
	c, seen := rig.StartCluster(ctx, t, binary, 3, flag, address), indexes{}
	look := func(what string, c *rig.Cluster) {
		t.Helper()
		c.Leader(ctx)
		seen.look(ctx, t, what, c.Running())
		seen.change(ctx, t, what, c.Running())
		seen.look(ctx, t, "a change after "+what, c.Running())
	}
	for range 2 { // An index of 1 does not wait for long.
		send(ctx, t, c.Members[0], http.MethodPut, "kv/p/1", "1")
	}
	look("the start", c)

	for _, m := range c.Members {
		if err := m.Stop(); err != nil {
			t.Fatal(err)
		}
		m.Restart(ctx)
	}
	look("a restart of each member", c)

	lead := c.Leader(ctx)
	lead.Kill()
	look("the loss of the leader", c)
	lead.Restart(ctx)
	look("its return", c)

	conn := c.Leader(ctx).Dial()
	defer func() { _ = conn.Close() }()
	cluster := tenurev1.NewClusterServiceClient(conn)
	if _, err := cluster.Compact(ctx, &tenurev1.CompactRequest{Revision: seen["session/list"]}); err != nil {
		t.Fatal(err)
	}
	look("a compaction", c)

	file := filepath.Join(t.TempDir(), "one.backup")
	run(ctx, t, c.Members[0], false, "backup", file)
	seen.look(ctx, t, "a backup", c.Running())
	for _, m := range c.Members {
		m.Kill()
	}
	restored := rig.StartClusterFrom(ctx, t, binary, 3, func(dir string) {
		run(ctx, t, c.Members[0], false, "restore", file, "--data-dir", dir)
	}, flag, address)
	look("a restore", restored)
}

// look compares the indexes of all reads, of all members, with those that were seen before.
func (seen indexes) look(ctx context.Context, t *testing.T, what string, members []*rig.Member) {
	t.Helper()
	for _, read := range consulReads {
		for _, m := range members {
			_, index := send(ctx, t, m, http.MethodGet, read, "")
			if index < max(seen[read], 1) {
				t.Errorf("after %s, %s answers %s with index %d; %d was seen before", what, m.Name(), read, index, seen[read])
			}
			seen[read] = max(seen[read], index)
		}
	}
}

// change waits at each member for a change of a key, with the index that was seen last, and makes it once all of them wait.
func (seen indexes) change(ctx context.Context, t *testing.T, what string, members []*rig.Member) {
	t.Helper()
	const read = "kv/there"
	changed := make(chan uint64, len(members))
	for _, m := range members {
		go func() {
			_, index := send(ctx, t, m, http.MethodGet, fmt.Sprintf("%s?index=%d&wait=10m", read, seen[read]), "")
			changed <- index
		}()
	}
	for _, m := range members {
		awaitBlocked(ctx, t, m, 1, func() bool { return len(changed) > 0 })
	}
	if n := len(changed); n > 0 {
		t.Errorf("after %s, %d waits with index %d ended before there was a change", what, n, seen[read])
	}
	send(ctx, t, members[0], http.MethodPut, read, what)
	for range members {
		if index := <-changed; index <= seen[read] {
			t.Errorf("after %s, a wait with index %d ended with %d", what, seen[read], index)
		}
	}
}

// awaitBlocked waits until so many requests of Consul's HTTP wait at a member, or it is in vain.
func awaitBlocked(ctx context.Context, t *testing.T, m *rig.Member, n int, vain func() bool) {
	t.Helper()
	line := fmt.Sprintf("\ntenure_consul_blocked %d\n", n)
	for {
		_, metrics, err := m.Fetch(ctx, "/metrics")
		switch {
		case err == nil && strings.Contains(string(metrics), line), vain():
			return
		case ctx.Err() != nil:
			t.Fatalf("%s never had %d requests that wait: %v", m.Name(), n, err)
		}
		pause(ctx, 20*time.Millisecond)
	}
}

// A member that hears of no leader, because the others are gone or say nothing, answers stale reads, and says so. Waits with stale end, too.
func TestStaleReadsAreAnsweredWithoutALeader(t *testing.T) {
	t.Parallel() // It mostly waits for time-outs.
	for name, cut := range map[string]struct {
		off, on func(ctx context.Context, m *rig.Member)
	}{
		"the others are killed":  {func(_ context.Context, m *rig.Member) { m.Kill() }, func(ctx context.Context, m *rig.Member) { m.Launch(ctx) }},
		"the others stand still": {func(_ context.Context, m *rig.Member) { m.Pause() }, func(_ context.Context, m *rig.Member) { m.Resume() }},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "the others stand still" {
				t.Skip("reads wait for a leader for a while")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			c := rig.StartCluster(ctx, t, binary, 3, "--consul-http", "127.0.0.1:0")
			c.AwaitRaised(ctx) // Then all know the names of all.
			alone := followers(c, c.Leader(ctx))[0]
			send(ctx, t, alone, http.MethodPut, "kv/a", "there")
			_, index := send(ctx, t, alone, http.MethodGet, "kv/a", "")
			others := slices.DeleteFunc(c.Running(), func(m *rig.Member) bool { return m == alone })
			for _, m := range others {
				cut.off(ctx, m)
			}
			awaitKnownLeader(ctx, t, alone, false)
			for _, path := range []string{
				"kv/a?raw&stale", fmt.Sprintf("kv/a?raw&stale&index=%d&wait=20ms", index), fmt.Sprintf("kv/a?raw&stale&index=%d&wait=10m", index-1),
			} {
				got := get(ctx, t, alone, path)
				if got.code != http.StatusOK || got.body != "there" || got.header.Get("X-Consul-Effective-Consistency") != "stale" ||
					got.header.Get("X-Consul-KnownLeader") != "false" || got.header.Get("X-Consul-LastContact") == "0" ||
					got.header.Get("X-Consul-Index") != strconv.FormatUint(index, 10) {
					t.Errorf("%s without a leader: got %d %q with %v", path, got.code, got.body, got.header)
				}
			}
			for _, path := range []string{"kv/a?raw", "kv/a?raw&max_stale=1h", "session/list?consistent"} {
				got := get(ctx, t, alone, path)
				if got.code != http.StatusInternalServerError || got.body != "No cluster leader" {
					t.Errorf("%s without a leader: got %d %q, want 500 No cluster leader", path, got.code, got.body)
				}
			}
			if got := get(ctx, t, alone, "status/leader"); got.code != http.StatusOK || got.body != `""` {
				t.Errorf("the leader, while there is none: got %d %q, want nobody", got.code, got.body)
			}
			for path, has := range map[string]string{
				"status/peers": alone.Addresses.Peer, "agent/self": `"NodeName":"` + alone.Name() + `"`, "agent/members": `"Name":"` + others[0].Name() + `"`,
				"operator/raft/configuration": `"Leader":false`,
			} {
				if got := get(ctx, t, alone, path); got.code != http.StatusOK || !strings.Contains(got.body, has) || strings.Contains(got.body, `"Leader":true`) {
					t.Errorf("%s without a leader: got %d %q, want %s", path, got.code, got.body, has)
				}
			}
			for _, m := range others {
				cut.on(ctx, m)
			}
			awaitKnownLeader(ctx, t, alone, true)
			if got := get(ctx, t, alone, "status/leader"); !strings.HasPrefix(got.body, `"127.`) {
				t.Errorf("the leader: got %d %q", got.code, got.body)
			}
			if answer, _ := send(ctx, t, alone, http.MethodGet, "kv/a?raw", ""); answer != "there" {
				t.Errorf("with a leader again: got %q", answer)
			}
		})
	}
}

// awaitKnownLeader waits until stale reads of a member say that it knows a leader, or that it knows none.
func awaitKnownLeader(ctx context.Context, t *testing.T, m *rig.Member, known bool) {
	t.Helper()
	for {
		got := get(ctx, t, m, "kv/a?stale")
		if got.header.Get("X-Consul-KnownLeader") == strconv.FormatBool(known) {
			return
		}
		if ctx.Err() != nil || t.Failed() {
			t.Fatalf("a stale read never said that the leader is known: %v; got %d %q", known, got.code, got.body)
		}
		pause(ctx, 20*time.Millisecond)
	}
}

// consulAnswer is an answer of Consul's HTTP.
type consulAnswer struct {
	code   int
	header http.Header
	body   string
}

// get sends a read of Consul's HTTP to a member once.
func get(ctx context.Context, t *testing.T, m *rig.Member, path string) consulAnswer {
	t.Helper()
	return consulAsk(ctx, t, m.Addresses.Consul, http.MethodGet, path, "")
}

// send sends a request of Consul's HTTP until it is answered: while there is no leader, it is not. It returns the body and the index.
func send(ctx context.Context, t *testing.T, m *rig.Member, method, path, body string) (answer string, index uint64) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		request, err := http.NewRequestWithContext(ctx, method, "http://"+m.Addresses.Consul+"/v1/"+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return "", 0
		}
		got, err := client.Do(request)
		if err != nil {
			t.Errorf("%s %s at %s: %v", method, path, m.Name(), err)
			return "", 0
		}
		data, err := io.ReadAll(got.Body)
		_ = got.Body.Close() // It was read.
		switch {
		case err == nil && got.StatusCode == http.StatusInternalServerError && ctx.Err() == nil:
			pause(ctx, 50*time.Millisecond)
			continue
		case err != nil || got.StatusCode != http.StatusOK && got.StatusCode != http.StatusNotFound:
			t.Errorf("%s %s at %s: %d %s, %v", method, path, m.Name(), got.StatusCode, data, err)
		}
		index, _ = strconv.ParseUint(got.Header.Get("X-Consul-Index"), 10, 64) // Only reads have one.
		return string(data), index
	}
}
