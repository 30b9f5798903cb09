package keep_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/keep"
	"github.com/tenure-io/tenure/agent/registry"
)

func open(t *testing.T, path string) *keep.Dir {
	t.Helper()
	d, err := keep.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func shut(t *testing.T, d *keep.Dir) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWhatOutlivesAnAgent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "agent")
	d := open(t, path)
	node := d.Node()
	if node.ID == "" || node.Boot != 1 {
		t.Fatalf("first start: got %+v, want boot 1", node)
	}
	if _, err := keep.Open(path); !errors.Is(err, keep.ErrLocked) {
		t.Errorf("a second agent: got %v, want %v", err, keep.ErrLocked)
	}
	want := registry.Content{
		Services: []registry.Service{{ID: "w", Name: "web", Meta: map[string]string{"a": "\u2028<"}, Weights: &registry.Weights{Passing: 1}}},
		Checks: []check.Definition{
			{ID: "c", Name: "c", ServiceID: "w", Kind: check.HTTP{URL: "http://a/", Header: map[string][]string{"Authorization": {"secret"}}, Body: "body"}, Interval: time.Second},
			{ID: "_maintenance", Name: "maintenance", Notes: "disk", Kind: check.Maintenance{}},
		},
	}
	if err := d.SetRegistered(want); err != nil {
		t.Fatal(err)
	}
	states := map[string]check.State{"c": {Status: check.Warning, Output: "slow\n"}, "d": {Status: check.Passing}}
	if err := d.SetStates(states); err != nil {
		t.Fatal(err)
	}
	if err := d.SetGossipAddress("10.0.0.1:7403"); err != nil {
		t.Fatal(err)
	}
	shut(t, d)

	d = open(t, path)
	if got := d.Node(); got.ID != node.ID || got.Boot != 2 || got.GossipAddress != "10.0.0.1:7403" {
		t.Errorf("second start: got %+v, want %s and boot 2", got, node.ID)
	}
	got, err := d.Registered()
	if err != nil || len(got.Services) != 1 || !got.Services[0].Equal(want.Services[0]) || len(got.Checks) != 2 ||
		!got.Checks[0].Equal(want.Checks[0]) || !got.Checks[1].Equal(want.Checks[1]) {
		t.Errorf("registered: got %+v and %v, want %+v", got, err, want)
	}
	if got, err := d.States(); err != nil || !reflect.DeepEqual(got, states) {
		t.Errorf("states: got %v and %v, want %v", got, err, states)
	}
	// The cluster knows later starts than an old copy.
	for _, boot := range []uint64{9, 4} {
		if err := d.Continue(boot); err != nil {
			t.Fatal(err)
		}
	}
	shut(t, d)
	d = open(t, path)
	if got := d.Node().Boot; got != 10 {
		t.Errorf("start after a later one: got %d, want 10", got)
	}
	shut(t, d)
}

func TestDamage(t *testing.T) {
	files := []string{"node.json", "registered.json", "states.json"}
	damages := map[string]struct {
		do   func(t *testing.T, path string)
		want error
	}{
		"a changed byte": {func(t *testing.T, path string) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			raw[len(raw)-4] ^= 1
			write(t, path, string(raw))
		}, keep.ErrDamaged},
		"a file cut off": {func(t *testing.T, path string) { write(t, path, `{"format":1,`) }, keep.ErrDamaged},
		"an empty file":  {func(t *testing.T, path string) { write(t, path, "") }, keep.ErrDamaged},
		"a newer format": {func(t *testing.T, path string) { write(t, path, `{"format":2,"content":{}}`) }, keep.ErrTooNew},
	}
	for name, damage := range damages {
		for _, file := range files {
			t.Run(name+" in "+file, func(t *testing.T) {
				path := t.TempDir()
				d := open(t, path)
				if err := d.SetRegistered(registry.Content{Services: []registry.Service{{ID: "w", Name: "web"}}}); err != nil {
					t.Fatal(err)
				}
				if err := d.SetStates(map[string]check.State{"c": {Status: check.Passing}}); err != nil {
					t.Fatal(err)
				}
				shut(t, d)
				damage.do(t, filepath.Join(path, file))
				d, err := keep.Open(path)
				if err == nil {
					_, registered := d.Registered()
					_, states := d.States()
					err = errors.Join(registered, states)
					shut(t, d)
				}
				if !errors.Is(err, damage.want) {
					t.Errorf("got %v, want %v", err, damage.want)
				}
			})
		}
	}
	t.Run("the node is gone", func(t *testing.T) {
		path := t.TempDir()
		d := open(t, path)
		if err := d.SetStates(nil); err != nil {
			t.Fatal(err)
		}
		shut(t, d)
		if err := os.Remove(filepath.Join(path, "node.json")); err != nil {
			t.Fatal(err)
		}
		if _, err := keep.Open(path); !errors.Is(err, keep.ErrDamaged) {
			t.Errorf("got %v, want %v", err, keep.ErrDamaged)
		}
	})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
