package rest

import (
	"iter"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// queryRaw is the one query parameter that is no field of a request: ?raw asks for a value's bytes.
const queryRaw = "raw"

// queryRules say which query parameters a route takes.
type queryRules struct {
	input protoreflect.MessageDescriptor          // nil for a path that is no RPC
	taken func(protoreflect.FieldDescriptor) bool // fields of the request that come from elsewhere
	extra []string                                // flags that are no fields
}

// parseQuery returns the query parameters in the form that the gateway reads, or refuses them: unknown ones, ones that
// are given twice, two of a oneof, and wrong values. A flag may be given without a value.
func parseQuery(raw string, rules queryRules) (url.Values, *restError) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, malformed("query", "it is damaged: a percent sign must be followed by two hexadecimal digits, "+
			"and parameters are separated by &")
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names) // so that the same query always gets the same answer
	oneofs := map[protoreflect.FullName]string{}
	for _, name := range names {
		if e := checkParameter(name, values[name], rules, oneofs); e != nil {
			return nil, e
		}
	}
	return values, nil
}

// checkParameter checks one parameter and gives flags their value.
func checkParameter(name string, given []string, rules queryRules, oneofs map[protoreflect.FullName]string) *restError {
	if !utf8.ValidString(name) {
		return malformed("query", "the name of a parameter is not valid UTF-8")
	}
	if slices.Contains(rules.extra, name) {
		return checkFlag(name, given)
	}
	field := rules.find(name)
	if called := camel(name); field == nil && rules.find(called) != nil {
		return unknownField(name, "unknown query parameter; its name is %s", called)
	}
	if field == nil {
		return unknownField(name, "unknown query parameter; %s", rules.list())
	}
	if len(given) > 1 && !field.IsList() {
		return unknownField(name, "the query parameter is given %d times", len(given))
	}
	if oneof := field.ContainingOneof(); oneof != nil && !oneof.IsSynthetic() {
		if other, taken := oneofs[oneof.FullName()]; taken {
			return unknownField(name, "the query parameter is in conflict with %s", other)
		}
		oneofs[oneof.FullName()] = name
	}
	for i, text := range given {
		if field.Kind() == protoreflect.BoolKind {
			text = boolText(text)
			given[i] = text
		}
		if e := checkQueryText(field, name, text); e != nil {
			return e
		}
	}
	return nil
}

// boolText returns the plain form of a flag: without a value it is true.
func boolText(text string) string {
	switch text {
	case "", "1":
		return "true"
	case "0":
		return "false"
	default:
		return text
	}
}

// checkFlag checks a flag that is no field.
func checkFlag(name string, given []string) *restError {
	if len(given) > 1 {
		return unknownField(name, "the query parameter is given %d times", len(given))
	}
	given[0] = boolText(given[0])
	if given[0] != "true" && given[0] != "false" {
		return malformed(name, "%.64q is neither true nor false", given[0])
	}
	return nil
}

// find returns the field that a parameter names, by its names in JSON, or nil.
func (q queryRules) find(name string) protoreflect.FieldDescriptor {
	message := q.input
	if message == nil {
		return nil
	}
	parts := strings.Split(name, ".")
	for i, part := range parts {
		field := fieldByJSONName(message, part)
		switch {
		case field == nil, field.IsMap(), i == 0 && q.taken != nil && q.taken(field), onlyInHeader(field):
			return nil
		case isText(field):
			if i < len(parts)-1 {
				return nil
			}
			return field
		case field.IsList():
			return nil
		}
		message = field.Message()
	}
	return nil // an object cannot be a parameter; only its fields can
}

// onlyInHeader tells whether a field is a secret, or works like one: those travel in headers, because URLs end up in the
// logs of proxies.
func onlyInHeader(field protoreflect.FieldDescriptor) bool {
	return field.Name() == "session_secret" || field.Name() == "idempotency_key"
}

// list names the parameters for people.
func (q queryRules) list() string {
	names := slices.Clone(q.extra)
	for field := range fieldsOf(q.input) {
		switch {
		case field.IsMap(), q.taken != nil && q.taken(field), !isText(field) && field.IsList():
		case isText(field):
			names = append(names, field.JSONName())
		default:
			names = append(names, field.JSONName()+".…")
		}
	}
	switch len(names) {
	case 0:
		return "this path has none"
	case 1:
		return "this path has only " + names[0]
	default:
		return "this path has " + strings.Join(names, ", ")
	}
}

// fieldByJSONName returns the field with this name in JSON, or nil. Names as in the protos are refused: one field has
// one name.
func fieldByJSONName(message protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	return message.Fields().ByJSONName(name)
}

// fieldsOf yields the fields of a message; none of nil.
func fieldsOf(message protoreflect.MessageDescriptor) iter.Seq[protoreflect.FieldDescriptor] {
	return func(yield func(protoreflect.FieldDescriptor) bool) {
		if message == nil {
			return
		}
		fields := message.Fields()
		for i := range fields.Len() {
			if !yield(fields.Get(i)) {
				return
			}
		}
	}
}
