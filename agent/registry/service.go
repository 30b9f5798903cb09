package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenure-io/tenure/agent/check"
)

// Limits of what one agent holds, and of one service. The cluster has the same.
const (
	ServicesMax       = 1_024
	ChecksMax         = 2_048
	TagsMax           = 64
	MetaMax           = 64
	MetaKeyBytesMax   = 128
	MetaValueBytesMax = 512
	AddressBytesMax   = 255
	WeightMax         = 65_535
)

// Service is one instance of a service on this machine.
type Service struct {
	// ID is unique among the services of the agent; empty: the name.
	ID   string
	Name string
	// Tags are kept sorted, each once.
	Tags []string
	// Address is where clients reach it; empty: the node's.
	Address string
	Port    uint32
	Meta    map[string]string
	// Weights are nil for 1 and 1.
	Weights *Weights
	// TagOverride lets others change the tags in the catalog; the agent then leaves them alone.
	TagOverride bool
}

// Weights are an instance's shares of the load.
type Weights struct {
	Passing uint32
	Warning uint32
}

// WithDefaults returns the service with its defaults filled in.
func (s Service) WithDefaults() Service {
	if s.ID == "" {
		s.ID = s.Name
	}
	if s.Weights == nil {
		s.Weights = &Weights{Passing: 1, Warning: 1}
	}
	s.Tags = slices.Compact(slices.Sorted(slices.Values(s.Tags)))
	return s
}

// Equal reports whether two services say the same.
func (s Service) Equal(o Service) bool {
	return s.ID == o.ID && s.Name == o.Name && slices.Equal(s.Tags, o.Tags) && s.Address == o.Address && s.Port == o.Port &&
		maps.Equal(s.Meta, o.Meta) && (s.Weights == nil) == (o.Weights == nil) && (s.Weights == nil || *s.Weights == *o.Weights) &&
		s.TagOverride == o.TagOverride
}

// Violations returns everything that is wrong with a service; empty if it may be registered.
func (s Service) Violations() []check.Violation {
	var v []check.Violation
	add := func(field, format string, args ...any) {
		v = append(v, check.Violation{Field: field, Problem: fmt.Sprintf(format, args...)})
	}
	name := func(field, value string) {
		switch {
		case value == "":
			add(field, "is missing")
		case !utf8.ValidString(value):
			add(field, "is not valid UTF-8")
		case len(value) > check.IDBytesMax:
			add(field, "is %d bytes long; the limit is %d", len(value), check.IDBytesMax)
		case strings.ContainsFunc(value, unicode.IsControl):
			add(field, "contains a control character")
		}
	}
	name("name", s.Name)
	if s.ID != "" {
		name("id", s.ID)
	}
	if len(s.Tags) > TagsMax {
		add("tags", "has %d tags; the limit is %d", len(s.Tags), TagsMax)
	} else {
		for _, tag := range s.Tags {
			name("tags", tag)
		}
	}
	if s.Address != "" {
		name("address", s.Address)
	}
	if s.Port > 65_535 {
		add("port", "is %d; the largest is 65535", s.Port)
	}
	if w := s.Weights; w != nil && (w.Passing > WeightMax || w.Warning > WeightMax) {
		add("weights", "has a weight above %d", WeightMax)
	}
	for _, problem := range metaProblems(s.Meta) {
		add("meta", "%s", problem)
	}
	return v
}

// metaProblems returns what is wrong with pairs of names and values.
func metaProblems(meta map[string]string) []string {
	if len(meta) > MetaMax {
		return []string{fmt.Sprintf("has %d pairs; the limit is %d", len(meta), MetaMax)}
	}
	var problems []string
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		value := meta[key]
		switch {
		case key == "" || !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl):
			problems = append(problems, fmt.Sprintf("has the key %q, which is empty, not UTF-8 or has control characters", check.Cut(key)))
		case len(key) > MetaKeyBytesMax:
			problems = append(problems, fmt.Sprintf("has a key of %d bytes; the limit is %d", len(key), MetaKeyBytesMax))
		case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
			problems = append(problems, fmt.Sprintf("%q has a value that is not UTF-8 or has control characters", key))
		case len(value) > MetaValueBytesMax:
			problems = append(problems, fmt.Sprintf("%q has a value of %d bytes; the limit is %d", key, len(value), MetaValueBytesMax))
		}
	}
	return problems
}
