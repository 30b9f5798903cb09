package config

import (
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tenure-io/tenure/agent/check"
)

// reader reads the values of one file.
type reader struct {
	*loader
	file string
}

// fields are the settings that a mapping may have, and what reads each.
type fields map[string]func(*yaml.Node)

func (r *reader) at(n *yaml.Node) place { return place{file: r.file, line: n.Line} }

// settings are those that a mapping has.
type settings struct {
	// lines are where they are.
	lines map[string]int
	// failed are those whose value could not be read.
	failed map[string]bool
}

// fields reads a mapping.
func (r *reader) fields(n *yaml.Node, known fields) settings {
	there := settings{lines: map[string]int{}, failed: map[string]bool{}}
	if n.Kind != yaml.MappingNode {
		r.expected(n, "settings, each as \"name: value\"")
		return there
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		read, is := known[name.Value]
		_, again := there.lines[name.Value]
		switch {
		case name.Kind != yaml.ScalarNode || !is:
			r.mistake(r.at(name), "unknown setting %q", name.Value)
		case again:
			r.mistake(r.at(name), "setting %q is repeated", name.Value)
		default:
			there.lines[name.Value] = name.Line
			before := len(r.mistakes)
			read(value)
			there.failed[name.Value] = len(r.mistakes) > before
		}
	}
	return there
}

// expected adds the mistake that a value is not what it should be.
func (r *reader) expected(n *yaml.Node, what string) {
	if n.Kind == yaml.AliasNode {
		r.mistake(r.at(n), "references to other values (*%s) are not supported", n.Value)
		return
	}
	r.mistake(r.at(n), "expected %s", what)
}

// each returns what reads a list.
func (r *reader) each(read func(*yaml.Node)) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.SequenceNode {
			r.expected(n, "a list")
			return
		}
		for _, element := range n.Content {
			read(element)
		}
	}
}

// scalar returns a single value as it is written.
func (r *reader) scalar(n *yaml.Node, expected string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.expected(n, expected)
		return "", false
	}
	return n.Value, true
}

func (r *reader) text(to *string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if value, ok := r.scalar(n, "a text"); ok {
			*to = value
		}
	}
}

func (r *reader) texts(to *[]string) func(*yaml.Node) {
	return r.each(func(n *yaml.Node) {
		if value, ok := r.scalar(n, "a text"); ok {
			*to = append(*to, value)
		}
	})
}

func (r *reader) flag(to *bool) func(*yaml.Node) {
	return func(n *yaml.Node) {
		value, ok := r.scalar(n, "true or false")
		switch {
		case !ok:
		case n.Tag != "!!bool" || (value != "true" && value != "false"):
			r.mistake(r.at(n), "expected true or false, not %q", value)
		default:
			*to = value == "true"
		}
	}
}

// number reads a whole number that is not negative. What is too large for its use is said there.
func (r *reader) number(set func(uint32)) func(*yaml.Node) {
	return func(n *yaml.Node) {
		value, ok := r.scalar(n, "a number")
		if !ok {
			return
		}
		v, err := strconv.ParseUint(value, 10, 31)
		if err != nil || n.Tag != "!!int" {
			r.mistake(r.at(n), "expected a whole number from 0 to %d, not %q", 1<<31-1, value)
			return
		}
		set(uint32(v))
	}
}

func (r *reader) count(to *int) func(*yaml.Node) {
	return r.number(func(v uint32) { *to = int(v) })
}

func (r *reader) duration(to *time.Duration) func(*yaml.Node) {
	return func(n *yaml.Node) {
		value, ok := r.scalar(n, "a duration such as 10s")
		if !ok {
			return
		}
		v, err := time.ParseDuration(value)
		if err != nil || n.Tag == "!!int" {
			r.mistake(r.at(n), "expected a duration such as 10s or 1m30s, not %q", value)
			return
		}
		if v == 0 {
			r.mistake(r.at(n), "a duration of 0; leave the setting out for the default")
		}
		*to = v
	}
}

func (r *reader) status(to *check.Status) func(*yaml.Node) {
	return func(n *yaml.Node) {
		value, ok := r.scalar(n, "a status")
		if !ok {
			return
		}
		v, known := check.ParseStatus(value)
		if !known || v == check.Unset {
			r.mistake(r.at(n), "expected passing, warning or critical, not %q", value)
			return
		}
		*to = v
	}
}

// pairs reads a mapping of texts.
func (r *reader) pairs(set func(name string, value *yaml.Node)) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.MappingNode {
			r.expected(n, "pairs, each as \"name: value\"")
			return
		}
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			name, ok := r.scalar(n.Content[i], "a name")
			if ok && seen[name] {
				r.mistake(r.at(n.Content[i]), "%q is repeated", name)
			} else if ok {
				seen[name] = true
				set(name, n.Content[i+1])
			}
		}
	}
}

// headers reads names of headers, each with one value or a list.
func (r *reader) headers(to *map[string][]string) func(*yaml.Node) {
	return r.pairs(func(name string, n *yaml.Node) {
		var values []string
		if n.Kind == yaml.SequenceNode {
			r.texts(&values)(n)
		} else if value, ok := r.scalar(n, "a text or a list of texts"); ok {
			values = []string{value}
		}
		if *to == nil {
			*to = map[string][]string{}
		}
		(*to)[name] = values
	})
}
