package rest

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Names of fields that REST itself looks at.
const (
	fieldKey       protoName = "key"
	fieldSessionID protoName = "session_id"
	fieldText      protoName = "text"
)

// protoName is the name of a field in the protos.
type protoName = string

// splitPath returns the segments of a request's path. The path is split as it was sent, and then every segment is
// unescaped, once: a slash that was sent as %2F stays in its segment. Nothing is cleaned, so segments may be empty, dots,
// or hold any character.
func splitPath(r *http.Request) ([]string, *restError) {
	raw := rawPath(r)
	if !strings.HasPrefix(raw, "/") {
		return nil, noSuchPath()
	}
	segments := strings.Split(raw[1:], "/")
	for i, segment := range segments {
		text, err := url.PathUnescape(segment)
		if err != nil {
			return nil, malformed("path", "a percent sign must be followed by two hexadecimal digits; write a literal one as %%25")
		}
		if !utf8.ValidString(text) {
			return nil, malformed("path", "it is not valid UTF-8")
		}
		segments[i] = text
	}
	return segments, nil
}

// rawPath returns a request's path as it was sent.
func rawPath(r *http.Request) string {
	// URL.EscapedPath is not always what was sent, but the best for a request that names a whole URL, as to a proxy.
	if !strings.HasPrefix(r.RequestURI, "/") {
		return r.URL.EscapedPath()
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	return path
}

// checkPath refuses values that a path must not give to its fields. The services check the rest.
func checkPath(fields []pathField, segments []routeSegment) *restError {
	rest := segments[len(segments)-1].rest
	for _, f := range fields {
		name := string(f.field.Name())
		switch {
		case rest && name == fieldKey:
			if f.value == "" {
				return refused(tenurev1.ErrorReason_ERROR_REASON_KEY_EMPTY, fieldKey, "a key must not be empty")
			}
		case name == fieldSessionID:
			if f.value == "" || strings.Contains(f.value, "/") {
				return refused(tenurev1.ErrorReason_ERROR_REASON_SESSION_ID_INVALID, f.field.JSONName(), "it must be a UUID")
			}
		case name == fieldText:
			if f.value == "" || strings.Contains(f.value, "/") {
				return refused(tenurev1.ErrorReason_ERROR_REASON_SEQUENCER_INVALID, f.field.JSONName(), "it is not a sequencer")
			}
		default:
			if e := checkQueryText(f.field, f.field.JSONName(), f.value); e != nil {
				return e
			}
		}
	}
	return nil
}
