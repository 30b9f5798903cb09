package thirdparty_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
)

// opentofu names the program that keeps what it made, its state, in a key, and locks it.
const opentofu = "OpenTofu 1.12.6, backend consul"

// tofuConfig is what a folder of OpenTofu has: the address of Consul's HTTP, the key of the state, whether to compress, and what goes into it.
const tofuConfig = `
terraform {
  backend "consul" {
    address = "%s"
    scheme  = "http"
    path    = "%s"
    gzip    = %t
  }
}
%s
`

// tofuInside enters the witness while OpenTofu has the lock of its state: the folder is that of the witness.
const tofuInside = `
resource "terraform_data" "inside" {
  triggers_replace = timestamp()
  provisioner "local-exec" {
    command = "if mkdir %[1]s/0; then sleep 0.02; rmdir %[1]s/0; else touch %[1]s/two; fi"
  }
}
`

// tofuKept is a state of so many bytes.
const tofuKept = `
variable "kept" { type = string }
resource "terraform_data" "kept" { input = var.kept }
`

// tofu is a folder of OpenTofu.
type tofu struct {
	dir string
}

// tofuMissing returns why OpenTofu cannot run, or nothing.
func tofuMissing() string {
	if _, err := os.Stat(filepath.Join(fetched, "opentofu", "tofu")); err != nil {
		return notFetched
	}
	return ""
}

// newTofu returns a folder with a configuration, not yet initialized.
func newTofu(t *testing.T, address, path string, gzip bool, more string) tofu {
	t.Helper()
	f := tofu{t.TempDir()}
	if err := os.WriteFile(filepath.Join(f.dir, "main.tf"), fmt.Appendf(nil, tofuConfig, address, path, gzip, more), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

// run runs a command of OpenTofu, and returns what it said.
func (f tofu) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(fetched, "opentofu", "tofu"), args...)
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_INPUT=0", "TF_CLI_CONFIG_FILE="+os.DevNull)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// must runs a command that has to succeed, and returns what it said.
func (f tofu) must(ctx context.Context, t *testing.T, args ...string) string {
	t.Helper()
	said, err := f.run(ctx, args...)
	if err != nil {
		t.Fatalf("tofu %s: %v: %s", strings.Join(args, " "), err, said)
	}
	return said
}

// TestOpenTofuContends has three folders of OpenTofu apply to one state, with leaders that are killed.
func TestOpenTofuContends(t *testing.T) {
	t.Parallel()
	if fetched == "" {
		t.Skip("make thirdparty fetches it")
	}
	for _, members := range []int{1, 3} {
		t.Run(fmt.Sprintf("members %d", members), func(t *testing.T) {
			t.Parallel()
			r := newRace(t, "lock of a state, by three", 1)
			if missing := tofuMissing(); missing != "" {
				note(opentofu, r.scenario(members), missing)
				t.Skip(missing)
			}
			r.record(t, opentofu, members, kills)
			c := start(t.Context(), t, members)
			r.contenders = applyAgain(t.Context(), t, c, r.witness)
			run(t, c, []*race{r}, kills)
		})
	}
}

// applyAgain applies in three folders until the test ends, each at the member of its number.
func applyAgain(ctx context.Context, t *testing.T, c *cluster, w *witness) []*contender {
	t.Helper()
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	var all []*contender
	for i := range 3 {
		me := &contender{name: fmt.Sprintf("folder %d of OpenTofu", i)}
		all = append(all, me)
		f := newTofu(t, c.address(i), "thirdparty/opentofu/contended", false, fmt.Sprintf(tofuInside, w.dir))
		f.must(ctx, t, "init")
		running.Go(func() {
			for ctx.Err() == nil {
				said, err := f.run(ctx, "apply", "-auto-approve", "-lock-timeout=60s")
				if _, two := os.Stat(filepath.Join(w.dir, "two")); two == nil {
					w.fault(fmt.Errorf("%s: two are in: %s", w.what, said))
				}
				if err == nil {
					me.rounds.Add(1)
				}
				sleep(ctx, pause)
			}
		})
	}
	return all
}

// TestOpenTofuKeepsStates keeps states of all sizes, small and in pieces, and does not write what another one has locked.
func TestOpenTofuKeepsStates(t *testing.T) {
	const scenario = "states up to 1 MB, in pieces and compressed; workspaces; a state that another one has locked"
	if fetched == "" {
		t.Skip("make thirdparty fetches it")
	}
	if missing := tofuMissing(); missing != "" {
		note(opentofu, scenario, missing)
		t.Skip(missing)
	}
	record(t, opentofu, scenario, "passed")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := start(ctx, t, 3)
	for _, gzip := range []bool{false, true} {
		f := newTofu(t, c.address(0), fmt.Sprintf("thirdparty/opentofu/kept-%t", gzip), gzip, tofuKept)
		f.must(ctx, t, "init")
		for _, size := range []int{10, 100_000, 390_000, 1_000_000, 100} {
			f.keep(ctx, t, size)
		}
		f.must(ctx, t, "workspace", "new", "other")
		f.keep(ctx, t, 10)
		if said := f.must(ctx, t, "workspace", "list"); !strings.Contains(said, "* other") || !strings.Contains(said, "default") {
			t.Errorf("tofu workspace list: got %q, want default and other", said)
		}
		f.must(ctx, t, "destroy", "-auto-approve", "-var=kept=")
		f.must(ctx, t, "workspace", "select", "default")
		f.must(ctx, t, "workspace", "delete", "other")
	}
	f := newTofu(t, c.address(1), "thirdparty/opentofu/locked", false, tofuKept)
	f.must(ctx, t, "init")
	client, err := api.NewClient(&api.Config{Address: c.address(2)})
	if err != nil {
		t.Fatal(err)
	}
	lock, err := client.LockKey("thirdparty/opentofu/locked/.lock")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = lock.Lock(ctx.Done()); err != nil {
		t.Fatal(err)
	}
	if said, refused := f.run(ctx, "apply", "-auto-approve", "-var=kept=x"); refused == nil || !strings.Contains(said, "Error acquiring the state lock") {
		t.Errorf("tofu apply to a locked state: got %v, %s", refused, said)
	}
	if err = lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	f.must(ctx, t, "apply", "-auto-approve", "-var=kept=x")
}

// keep keeps so many random bytes, and reads them back.
func (f tofu) keep(ctx context.Context, t *testing.T, size int) {
	t.Helper()
	var text strings.Builder
	for text.Len() < size {
		text.WriteString(rand.Text())
	}
	want := text.String()[:size]
	if err := os.WriteFile(filepath.Join(f.dir, "terraform.tfvars"), fmt.Appendf(nil, "kept = %q\n", want), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	f.must(ctx, t, "apply", "-auto-approve")
	t.Logf("a state with %d bytes was written after %v", size, time.Since(began))
	var state struct {
		Resources []struct {
			Instances []struct {
				Attributes struct {
					Input struct{ Value string }
				}
			}
		}
	}
	said := f.must(ctx, t, "state", "pull")
	if err := json.Unmarshal([]byte(said), &state); err != nil {
		t.Fatal(err)
	}
	if len(state.Resources) != 1 || len(state.Resources[0].Instances) != 1 || state.Resources[0].Instances[0].Attributes.Input.Value != want {
		t.Fatalf("a state with %d bytes: the one read back has others: %.300s", size, said)
	}
}
