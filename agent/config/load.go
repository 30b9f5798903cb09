package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/registry"
)

// Limits of what is read.
const (
	FilesMax     = 1_000
	FileBytesMax = 4 << 20
)

// Options say what files may contain.
type Options struct {
	// Exec allows checks of kind exec.
	Exec bool
}

// Load reads a file or a directory. What it returns can be registered as a whole, or else there is an error: a
// *MistakesError if the files were read and have mistakes.
func Load(path string, options Options) (registry.Content, error) {
	files, err := list(path)
	if err != nil {
		return registry.Content{}, err
	}
	l := newLoader(options)
	for _, file := range files {
		raw, err := read(file)
		if err != nil {
			return registry.Content{}, err
		}
		l.file(file, raw)
	}
	return l.content()
}

// list returns the files to read, in order.
func list(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	var files []string
	for _, entry := range entries {
		name := entry.Name()
		if kind := filepath.Ext(name); strings.HasPrefix(name, ".") || (kind != ".yaml" && kind != ".yml" && kind != ".json") {
			continue
		}
		file := filepath.Join(path, name)
		// A link may lead to a directory.
		if info, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("read configuration: %w", err)
		} else if info.IsDir() {
			continue
		}
		files = append(files, file)
	}
	if len(files) > FilesMax {
		return nil, fmt.Errorf("read configuration: %s has %d files; the limit is %d", path, len(files), FilesMax)
	}
	slices.Sort(files)
	return files, nil
}

// read reads a file that is not larger than such files are.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read configuration: %s is not a regular file", path)
	}
	file, err := os.Open(path) //nolint:gosec // The operator names the file.
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer func() { _ = file.Close() }()
	raw, err := io.ReadAll(io.LimitReader(file, FileBytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if len(raw) > FileBytesMax {
		return nil, fmt.Errorf("read configuration: %s is larger than %d bytes", path, FileBytesMax)
	}
	return raw, nil
}

// place is where something was found.
type place struct {
	file string
	line int
}

func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

// loader gathers what files register.
type loader struct {
	options  Options
	found    registry.Content
	services map[string]place
	checks   map[string]place
	// about are the services that checks name, by the check's id.
	about    map[string]place
	mistakes []Mistake
}

func newLoader(options Options) *loader {
	return &loader{options: options, services: map[string]place{}, checks: map[string]place{}, about: map[string]place{}}
}

func (l *loader) mistake(at place, format string, args ...any) {
	l.mistakes = append(l.mistakes, Mistake{File: at.file, Line: at.line, Text: check.Cut(fmt.Sprintf(format, args...))})
}

// content returns everything, unless there is a mistake.
func (l *loader) content() (registry.Content, error) {
	for _, c := range l.found.Checks {
		if _, there := l.services[c.ServiceID]; c.ServiceID != "" && !there {
			l.mistake(l.about[c.ID], "check %q is about service %q, which no file registers", c.ID, c.ServiceID)
		}
	}
	if n := len(l.found.Services); n > registry.ServicesMax {
		l.mistake(l.services[l.found.Services[n-1].ID], "%d services; an agent holds at most %d", n, registry.ServicesMax)
	}
	if n := len(l.found.Checks); n > registry.ChecksMax {
		l.mistake(l.checks[l.found.Checks[n-1].ID], "%d checks; an agent holds at most %d", n, registry.ChecksMax)
	}
	if len(l.mistakes) == 0 {
		return l.found, nil
	}
	slices.SortStableFunc(l.mistakes, func(a, b Mistake) int {
		return cmpPlaces(place{a.File, a.Line}, place{b.File, b.Line})
	})
	return registry.Content{}, &MistakesError{Mistakes: l.mistakes}
}

func cmpPlaces(a, b place) int {
	if c := strings.Compare(a.file, b.file); c != 0 {
		return c
	}
	return a.line - b.line
}

// file reads one file.
func (l *loader) file(name string, raw []byte) {
	root, err := parse(name, raw)
	if err != nil {
		at := place{file: name}
		if syntax, is := errors.AsType[*syntaxError](err); is {
			at.line = syntax.line
		}
		l.mistake(at, "%v", err)
		return
	}
	if root == nil {
		return
	}
	r := &reader{loader: l, file: name}
	r.fields(root, fields{
		"services": r.each(func(n *yaml.Node) { r.service(n) }),
		"checks":   r.each(func(n *yaml.Node) { r.check(n, "") }),
	})
}

// parse returns the one document of a file; nil if it is empty.
func parse(name string, raw []byte) (*yaml.Node, error) {
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if err := checkText(raw); err != nil {
		return nil, err
	}
	if filepath.Ext(name) == ".json" {
		return parseJSON(raw)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(raw))
	var document, more yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil //nolint:nilnil // An empty file has no document and no mistake.
	} else if err != nil {
		return nil, yamlError(err)
	}
	if err := decoder.Decode(&more); err == nil {
		return nil, &syntaxError{line: more.Line, text: "a second document starts here; a file holds only one"}
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlError(err)
	}
	if len(document.Content) == 0 {
		return nil, nil //nolint:nilnil // Only comments.
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil //nolint:nilnil // Only comments.
	}
	return root, nil
}
