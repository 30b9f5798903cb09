package thirdparty_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
)

// templateKey is the key that templates show.
const templateKey = "thirdparty/template/value"

// templateConfig is the file of consul-template: the address of Consul's HTTP, what it renders to, and whether one of all that run renders for all.
const templateConfig = `
consul {
  address = "%s"
  retry { attempts = 0, backoff = "100ms", max_backoff = "1s" }
}
template {
  contents = "{{ key \"` + templateKey + `\" }}"
  destination = "%s"
}
deduplicate {
  enabled = %t
  prefix = "thirdparty/template/deduplicated/"
}
`

// TestTemplatesAreRendered runs three of consul-template, and kills leaders: each change of the key is rendered by all.
func TestTemplatesAreRendered(t *testing.T) {
	const program = "consul-template 0.41.1"
	if fetched == "" {
		t.Skip("make thirdparty fetches it")
	}
	binary := filepath.Join(fetched, "consul-template", "consul-template")
	for name, deduplicated := range map[string]bool{"a key, by three": false, "a key, by three that let one of them ask": true} {
		for _, members := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, members %d", name, members), func(t *testing.T) {
				scenario := name + ", " + countedMembers(members)
				if _, err := os.Stat(binary); err != nil {
					note(program, scenario, notFetched)
					t.Skip("it could not be fetched")
				}
				record(t, program, scenario, fmt.Sprintf("%d leaders killed: every change was rendered", kills))
				c := start(t.Context(), t, members)
				put(t.Context(), t, c, templateKey, "0")
				var files []string
				for i := range 3 {
					files = append(files, renderTemplate(t.Context(), t, binary, c.address(i), deduplicated))
				}
				awaitRendered(t.Context(), t, files, "0")
				for i := range kills {
					c.killLeader(t.Context())
					value := strconv.Itoa(i + 1)
					put(t.Context(), t, c, templateKey, value)
					awaitRendered(t.Context(), t, files, value)
				}
			})
		}
	}
}

// put writes a key, and tries until that is done.
func put(ctx context.Context, t *testing.T, c *cluster, key, value string) {
	t.Helper()
	client, err := api.NewClient(&api.Config{Address: c.address(0)})
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); time.Now().Before(end); sleep(ctx, retry) {
		if _, err = client.KV().Put(&api.KVPair{Key: key, Value: []byte(value)}, nil); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// renderTemplate runs consul-template until the test ends, and returns the file that it writes.
func renderTemplate(ctx context.Context, t *testing.T, binary, address string, deduplicated bool) string {
	t.Helper()
	dir := t.TempDir()
	rendered, config := filepath.Join(dir, "rendered"), filepath.Join(dir, "config.hcl")
	if err := os.WriteFile(config, fmt.Appendf(nil, templateConfig, address, rendered, deduplicated), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, binary, "-config", config)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { _ = cmd.Wait() })
	t.Cleanup(func() {
		stop()
		running.Wait()
		if t.Failed() {
			t.Log(lastOf(log.String()))
		}
	})
	return rendered
}

// awaitRendered waits until all files have a content.
func awaitRendered(ctx context.Context, t *testing.T, files []string, want string) {
	t.Helper()
	for _, file := range files {
		var got []byte
		for end := time.Now().Add(patience); string(got) != want; sleep(ctx, 50*time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s has %q, and not %q, within %v", file, got, want, patience)
			}
			got, _ = os.ReadFile(file)
		}
	}
}
