package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// depthMax bounds how deep values are nested.
const depthMax = 32

// syntaxError says where a file cannot be read.
type syntaxError struct {
	line int
	text string
}

// Error returns what is wrong there.
func (e *syntaxError) Error() string { return e.text }

// yamlError finds the line in an error of the YAML library, which has it only in its text.
func yamlError(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line, rest, found := strings.Cut(strings.TrimPrefix(text, "line "), ": ")
	if n, bad := strconv.Atoi(line); found && bad == nil {
		return &syntaxError{line: n, text: rest}
	}
	// The library leaves out the first line.
	return &syntaxError{line: 1, text: text}
}

// checkText finds bytes that are not text.
func checkText(raw []byte) error {
	line := 1
	for at := 0; at < len(raw); {
		r, size := utf8.DecodeRune(raw[at:])
		switch {
		case r == utf8.RuneError && size <= 1:
			return &syntaxError{line: line, text: "a byte that is not UTF-8"}
		case r == '\n':
			line++
		case unicode.IsControl(r) && r != '\t' && r != '\r' && r != '\u0085':
			return &syntaxError{line: line, text: fmt.Sprintf("the control character %U", r)}
		}
		at += size
	}
	return nil
}

// parseJSON reads a document, and remembers the line of everything in it.
func parseJSON(raw []byte) (*yaml.Node, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil //nolint:nilnil // An empty file has no document and no mistake.
	}
	p := &jsonParser{raw: raw, decoder: json.NewDecoder(bytes.NewReader(raw)), line: 1}
	p.decoder.UseNumber()
	root, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := p.token(); !errors.Is(err, io.EOF) {
		return nil, &syntaxError{line: p.line, text: "a second document starts here; a file holds only one"}
	}
	return root, nil
}

type jsonParser struct {
	raw     []byte
	decoder *json.Decoder
	// line is that of offset, where the last token ended.
	line   int
	offset int64
}

// token returns the next token, and goes on to its line.
func (p *jsonParser) token() (json.Token, error) {
	token, err := p.decoder.Token()
	at := p.decoder.InputOffset()
	if syntax, is := errors.AsType[*json.SyntaxError](err); is {
		at = max(syntax.Offset, p.offset)
	}
	at = min(at, int64(len(p.raw)))
	p.line += bytes.Count(p.raw[p.offset:at], []byte("\n"))
	p.offset = at
	switch {
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, &syntaxError{line: p.line, text: "the file ends in the middle of a value"}
	case err != nil:
		return nil, &syntaxError{line: p.line, text: err.Error()}
	}
	return token, nil
}

// value returns the next value.
func (p *jsonParser) value(depth int) (*yaml.Node, error) {
	token, err := p.token()
	if errors.Is(err, io.EOF) {
		err = &syntaxError{line: p.line, text: "the file ends in the middle of a value"}
	}
	if err != nil {
		return nil, err
	}
	if depth > depthMax {
		return nil, &syntaxError{line: p.line, text: fmt.Sprintf("values are nested more than %d deep", depthMax)}
	}
	scalar := func(tag, value string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value, Line: p.line}
	}
	switch t := token.(type) {
	case json.Delim:
		return p.compound(t, depth)
	case string:
		return scalar("!!str", t), nil
	case json.Number:
		if strings.ContainsAny(t.String(), ".eE") {
			return scalar("!!float", t.String()), nil
		}
		return scalar("!!int", t.String()), nil
	case bool:
		return scalar("!!bool", strconv.FormatBool(t)), nil
	default:
		return scalar("!!null", "null"), nil
	}
}

// compound returns the rest of a list or an object.
func (p *jsonParser) compound(open json.Delim, depth int) (*yaml.Node, error) {
	node := &yaml.Node{Kind: yaml.SequenceNode, Line: p.line}
	if open == '{' {
		node.Kind = yaml.MappingNode
	}
	for p.decoder.More() {
		// In an object, names and values alternate, and the decoder sees to it that names are texts.
		value, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, value)
	}
	if _, err := p.token(); err != nil {
		if errors.Is(err, io.EOF) {
			err = &syntaxError{line: p.line, text: "the file ends in the middle of a value"}
		}
		return nil, err
	}
	return node, nil
}
