package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// checkJSON refuses a body that is not exactly one request in JSON: damaged, with fields that are unknown, given twice,
// two of a oneof, or given by the path as well, and with wrong values. Protobuf's own decoder would accept names as in the
// protos, and could not say which field is wrong. No message of the API contains itself, so what is nested deeper than a
// request can be is refused as unknown, and the walk is never deep.
func checkJSON(body []byte, input protoreflect.MessageDescriptor, inPath func(protoreflect.FieldDescriptor) bool) *restError {
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return malformed("body", "it must not start with a byte order mark")
	case !utf8.Valid(body):
		return malformed("body", "it is not valid UTF-8")
	}
	c := jsonChecker{decoder: json.NewDecoder(bytes.NewReader(body)), inPath: inPath}
	c.decoder.UseNumber()
	first, e := c.next()
	if e != nil {
		return e
	}
	if first != json.Delim('{') {
		return malformed("body", "it must be a JSON object")
	}
	if e := c.object(input, ""); e != nil {
		return e
	}
	if _, err := c.decoder.Token(); !errors.Is(err, io.EOF) {
		return malformed("body", "there is text after the JSON object")
	}
	return nil
}

// jsonChecker walks through a body along the description of its message.
type jsonChecker struct {
	decoder *json.Decoder
	inPath  func(protoreflect.FieldDescriptor) bool // asked for fields of the outermost object only
}

// next returns the next token.
func (c *jsonChecker) next() (json.Token, *restError) {
	token, err := c.decoder.Token()
	switch {
	case err == nil:
		return token, nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, malformed("body", "the JSON ends too early")
	default:
		return nil, malformed("body", "it is not JSON: near byte %d", c.decoder.InputOffset())
	}
}

// object checks the fields of an object whose opening brace was read.
func (c *jsonChecker) object(message protoreflect.MessageDescriptor, path string) *restError {
	seen := map[string]bool{}
	oneofs := map[protoreflect.FullName]string{}
	for c.decoder.More() {
		name, e := c.name(path, seen)
		if e != nil {
			return e
		}
		full := joinPath(path, name)
		field := fieldByJSONName(message, name)
		switch {
		case field == nil && fieldByJSONName(message, camel(name)) != nil:
			return unknownField(full, "unknown field; its name is %s", joinPath(path, camel(name)))
		case field == nil:
			return unknownField(full, "unknown field; the known fields are %s", jsonNames(message))
		case path == "" && c.inPath(field):
			return unknownField(full, "it is in the path, and must not be in the body as well")
		}
		if oneof := field.ContainingOneof(); oneof != nil && !oneof.IsSynthetic() {
			if other, taken := oneofs[oneof.FullName()]; taken {
				return unknownField(full, "it is in conflict with %s", other)
			}
			oneofs[oneof.FullName()] = full
		}
		if e := c.value(field, full); e != nil {
			return e
		}
	}
	return c.close()
}

// name reads the name of a member of an object.
func (c *jsonChecker) name(path string, seen map[string]bool) (string, *restError) {
	token, e := c.next()
	if e != nil {
		return "", e
	}
	name, ok := token.(string)
	if !ok {
		return "", malformed("body", "it is not JSON: near byte %d", c.decoder.InputOffset())
	}
	if seen[name] {
		return "", unknownField(joinPath(path, name), "it is given twice")
	}
	seen[name] = true
	return name, nil
}

// close reads the end of an object or list.
func (c *jsonChecker) close() *restError {
	_, e := c.next()
	return e
}

// value checks the value of a field.
func (c *jsonChecker) value(field protoreflect.FieldDescriptor, path string) *restError {
	token, e := c.next()
	if e != nil {
		return e
	}
	switch {
	case token == nil: // null means unset
		return nil
	case field.IsMap():
		if token != json.Delim('{') {
			return malformed(path, "it must be an object")
		}
		return c.mapEntries(field.MapValue(), path)
	case field.IsList():
		if token != json.Delim('[') {
			return malformed(path, "it must be a list")
		}
		return c.items(field, path)
	default:
		return c.single(field, path, token)
	}
}

// items checks a list whose opening bracket was read.
func (c *jsonChecker) items(field protoreflect.FieldDescriptor, path string) *restError {
	for c.decoder.More() {
		token, e := c.next()
		if e != nil {
			return e
		}
		if e := c.single(field, path, token); e != nil {
			return e
		}
	}
	return c.close()
}

// mapEntries checks a map whose opening brace was read. All maps of requests have strings as keys.
func (c *jsonChecker) mapEntries(value protoreflect.FieldDescriptor, path string) *restError {
	seen := map[string]bool{}
	for c.decoder.More() {
		name, e := c.name(path, seen)
		if e != nil {
			return e
		}
		token, e := c.next()
		if e != nil {
			return e
		}
		if e := c.single(value, joinPath(path, name), token); e != nil {
			return e
		}
	}
	return c.close()
}

// single checks one value whose first token was read.
func (c *jsonChecker) single(field protoreflect.FieldDescriptor, path string, token json.Token) *restError {
	switch t := token.(type) {
	case json.Delim:
		if t == '{' && !isText(field) {
			return c.object(field.Message(), path)
		}
		return malformed(path, "it must not be an object or a list")
	case string:
		return checkJSONText(field, path, t)
	case json.Number:
		if strings.ContainsAny(t.String(), ".eE") && field.Kind() != protoreflect.StringKind && field.Kind() != protoreflect.EnumKind {
			return malformed(path, "%.64s is not a whole number; write it with digits only", t)
		}
		return c.number(field, path, t.String())
	case bool:
		if field.Kind() != protoreflect.BoolKind {
			return malformed(path, "it must not be true or false")
		}
		return nil
	default:
		return malformed(path, "it must not be null here")
	}
}

// number checks a number in JSON.
func (c *jsonChecker) number(field protoreflect.FieldDescriptor, path, text string) *restError {
	switch field.Kind() {
	case protoreflect.MessageKind:
		if isText(field) && field.Message().FullName() == durationName {
			return wrongDuration(field, path, text)
		}
		return malformed(path, "it must not be a number")
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.BoolKind:
		return malformed(path, "it must not be a number")
	default:
		return checkScalar(field, path, text)
	}
}

// joinPath returns the name of a field inside another.
func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// jsonNames lists the fields of a message for people.
func jsonNames(message protoreflect.MessageDescriptor) string {
	var names []string
	for field := range fieldsOf(message) {
		names = append(names, field.JSONName())
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
