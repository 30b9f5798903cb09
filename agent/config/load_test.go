package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/config"
	"github.com/tenure-io/tenure/agent/registry"
)

// TestLoad runs testdata: a line "-- NAME" begins a file, and the result is what is registered or every mistake.
func TestLoad(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			dir := t.TempDir()
			name := "a.yaml"
			var of strings.Builder
			write := func() {
				if of.Len() > 0 {
					put(t, dir, name, of.String())
					of.Reset()
				}
			}
			for line := range strings.Lines(d.Input) {
				if next, is := strings.CutPrefix(strings.TrimRight(line, "\n"), "-- "); is {
					write()
					name = next
					continue
				}
				of.WriteString(line)
			}
			write()
			content, err := config.Load(dir, config.Options{Exec: d.HasArg("exec")})
			if err != nil {
				return strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "") + "\n"
			}
			return show(content)
		})
	})
}

func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func show(content registry.Content) string {
	var b strings.Builder
	for _, s := range content.Services {
		weights := *s.Weights
		s.Weights = nil
		fmt.Fprintf(&b, "service %+v weights %+v\n", s, weights)
	}
	for _, c := range content.Checks {
		if k, is := c.Kind.(check.GRPC); is && k.TLS != nil {
			fmt.Fprintf(&b, "with %+v: ", *k.TLS)
			k.TLS = nil
			c.Kind = k
		}
		fmt.Fprintf(&b, "check %+v kind %s\n", c, c.Kind.Name())
	}
	return b.String()
}

func TestYAMLAndJSONSayTheSame(t *testing.T) {
	dir := t.TempDir()
	yaml := put(t, dir, "a.yaml", "services:\n  - {name: w\U0001F600, port: 80, checks: [{id: c, http: \"http://a/\", interval: 5s, header: {A: [b, c]}}]}\n")
	json := put(t, dir, "a.json", "{\"services\": [\n\t{\"name\": \"w\\ud83d\\ude00\", \"port\": 80, \"checks\": [\r\n{\"id\": \"c\", \"http\": \"http:\\/\\/a\\/\",\n\"interval\": \"5s\", \"header\": {\"A\": [\"b\", \"c\"]}}]}]}")
	a, err := config.Load(yaml, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := config.Load(json, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("yaml has %+v\njson has %+v", a, b)
	}
	want := check.Definition{ID: "c", ServiceID: "w\U0001F600", Interval: 5 * time.Second, Kind: check.HTTP{URL: "http://a/", Header: map[string][]string{"A": {"b", "c"}}}}
	if len(a.Checks) != 1 || !a.Checks[0].Equal(want) {
		t.Errorf("checks: got %+v, want %+v", a.Checks, want)
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	large := put(t, dir, "large", strings.Repeat("#", config.FileBytesMax+1))
	many := t.TempDir()
	for i := range config.FilesMax + 1 {
		put(t, many, fmt.Sprintf("%d.yaml", i), "")
	}
	tests := map[string]struct{ path, want string }{
		"a missing file":      {filepath.Join(dir, "missing"), "no such file"},
		"a large file":        {large, "is larger than"},
		"a device":            {os.DevNull, "not a regular file"},
		"a directory of many": {many, "has 1001 files"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := config.Load(test.path, config.Options{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}

// FuzzLoad: whatever a file holds, it is either a set that can be registered, or there are mistakes with lines.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"", "services: []", "checks:\n  - {id: a, ttl: 10s}\n", "services: &a [*a]", "services: [{name: a, checks: [{id: b, http: 'http://x'}]}]",
		`{"services":[{"name":"a","checks":[{"id":"b","tcp":"a:1","timeout":"1s"}]}]}`, "a: b: c", "\xff", "? {a: b}\n: c", "--- \n---\n",
	} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, text string, json bool) {
		name := "a.yaml"
		if json {
			name = "a.json"
		}
		content, err := config.Load(put(t, t.TempDir(), name, text), config.Options{Exec: true})
		if err == nil {
			r := registry.New(registry.Options{ExecFromFile: true}, nil)
			if err = r.Add(registry.Addition{Content: content, Source: registry.File, Replace: true}); err != nil {
				t.Errorf("it was loaded, and cannot be registered: %v", err)
			}
			return
		}
		var mistakes *config.MistakesError
		if !errors.As(err, &mistakes) || len(mistakes.Mistakes) == 0 {
			t.Fatalf("got %v, want mistakes", err)
		}
		lines := strings.Count(text, "\n") + strings.Count(text, "\r") + strings.Count(text, "\u0085") +
			strings.Count(text, "\u2028") + strings.Count(text, "\u2029") + 1
		for _, m := range mistakes.Mistakes {
			if m.Line < 0 || m.Line > lines+1 {
				t.Errorf("line %d of %d: %s", m.Line, lines, m.Text)
			}
		}
	})
}
