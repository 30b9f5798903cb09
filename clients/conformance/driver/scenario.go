package driver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"

	"gopkg.in/yaml.v3"
)

// Scenario is what to do, and what must come of it.
type Scenario struct {
	Name    string   `yaml:"name"`
	Smoke   bool     `yaml:"smoke"`
	Rows    []int    `yaml:"rows"`
	Needs   []string `yaml:"needs"`
	Members int      `yaml:"members"`
	// TLS is with members that demand certificates of clients. The variable certs is a folder with what members and clients have, and a folder
	// other in it with what another authority signed.
	TLS bool `yaml:"tls"`
	// Machine is the name of a node whose `tenure agent` runs. The variable machine is its address.
	Machine string `yaml:"machine"`
	Steps   []Step `yaml:"steps"`
	// File is where it stands.
	File string `yaml:"-"`
}

// Step is one step: a request, a fault, or a look at events.
type Step struct {
	// Requests.
	Agent   string         `yaml:"agent"`
	Op      string         `yaml:"op"`
	On      string         `yaml:"on"`
	As      string         `yaml:"as"`
	Args    map[string]any `yaml:"args"`
	Start   string         `yaml:"start"`
	Finish  string         `yaml:"finish"`
	Expect  any            `yaml:"expect"`
	Error   string         `yaml:"error"`
	Applied string         `yaml:"applied"`
	// Message is what the text of the error is like.
	Message any               `yaml:"message"`
	Save    map[string]string `yaml:"save"`
	Within  time.Duration     `yaml:"within"`
	// Least is how long the reply must take at least.
	Least time.Duration `yaml:"least"`
	// Until repeats the request until it answers as expected, within the time.
	Until bool `yaml:"until"`
	// Unless is an event, as one that is awaited, after which the answer of such a request may be another one.
	Unless *Step `yaml:"unless"`
	// Events.
	Await string `yaml:"await"`
	Never string `yaml:"never"`
	// Next demands that what is awaited is the very next event of this kind and object.
	Next bool `yaml:"next"`
	// Most is how many events may nevertheless be like what is never; without Of those of all objects count together.
	Most int    `yaml:"most"`
	Of   string `yaml:"of"`
	// Faults.
	Fault    string `yaml:"fault"`
	Member   int    `yaml:"member"`
	At       string `yaml:"at"` // In place of member: the address that clients are told.
	All      bool   `yaml:"all"`
	Way      string `yaml:"way"`
	DelayMs  int    `yaml:"delay_ms"`
	JitterMs int    `yaml:"jitter_ms"`
	ForMs    int    `yaml:"for_ms"`
	// Connections is how many there must be.
	Connections int `yaml:"connections"`
	// Node is the name of the one that a fault is about, and Address its new address.
	Node    string `yaml:"node"`
	Address string `yaml:"address"`
	// Session is the id of the one that a fault is about.
	Session string `yaml:"session"`
	Cycle   *Cycle `yaml:"cycle"`
}

// Cycle repeats steps.
type Cycle struct {
	Times int    `yaml:"times"`
	Steps []Step `yaml:"steps"`
}

// Load reads all scenarios of a directory.
func Load(dir fs.FS) ([]*Scenario, error) {
	files, err := fs.Glob(dir, "*.yaml")
	if err != nil {
		return nil, err
	}
	var all []*Scenario
	names := map[string]bool{}
	for _, file := range files {
		data, err := fs.ReadFile(dir, file)
		if err != nil {
			return nil, err
		}
		decoder := yaml.NewDecoder(bytes.NewReader(data))
		decoder.KnownFields(true)
		var list []*Scenario
		if err := decoder.Decode(&list); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, s := range list {
			s.File = path.Base(file)
			s.Members = max(s.Members, 1)
			if s.Name == "" || names[s.Name] {
				return nil, fmt.Errorf("%s: the name %q is empty or taken", file, s.Name)
			}
			names[s.Name] = true
		}
		all = append(all, list...)
	}
	return all, nil
}
