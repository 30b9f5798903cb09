package check

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Violation is one thing that is wrong with a definition.
type Violation struct {
	// Field is the setting's name, as in a configuration file.
	Field string
	// Problem is what is wrong with it, in words that follow the field's name.
	Problem string
}

// violations gathers what is wrong.
type violations []Violation

func (v *violations) add(field, format string, args ...any) {
	*v = append(*v, Violation{Field: field, Problem: fmt.Sprintf(format, args...)})
}

// text checks a text of at most max bytes.
func (v *violations) text(field, value string, bytesMax int) {
	switch {
	case !utf8.ValidString(value):
		v.add(field, "is not valid UTF-8")
	case len(value) > bytesMax:
		v.add(field, "is %d bytes long; the limit is %d", len(value), bytesMax)
	}
}

// name checks an id or a name.
func (v *violations) name(field, value string) {
	if value == "" {
		v.add(field, "is missing")
		return
	}
	v.text(field, value, IDBytesMax)
	if strings.ContainsFunc(value, unicode.IsControl) {
		v.add(field, "contains a control character")
	}
}

// duration checks a duration that is set.
func (v *violations) duration(field string, value, least time.Duration) {
	if value < least || value > DurationMax {
		v.add(field, "is %s; it must be at least %s and at most %s", value, least, DurationMax)
	}
}

// address checks a host and port.
func (v *violations) address(field, value string) {
	if len(value) > URLBytesMax {
		v.add(field, "is %d bytes long; the limit is %d", len(value), URLBytesMax)
		return
	}
	host, port, err := net.SplitHostPort(value)
	if err != nil || host == "" {
		v.add(field, "is %q; it must be host:port", value)
		return
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		v.add(field, "has port %q; it must be a number from 1 to 65535", port)
	}
}

// Violations returns everything that is wrong with a definition; empty if it may be registered.
func (d Definition) Violations() []Violation {
	var v violations
	v.name("id", d.ID)
	if slices.Contains(reserved, d.ID) {
		v.add("id", "is %q, which is the cluster's own check", d.ID)
	}
	if strings.HasPrefix(d.ID, MaintenancePrefix) {
		v.add("id", "starts with %q, which is kept for maintenance", MaintenancePrefix)
	}
	if d.Name != "" {
		v.name("name", d.Name)
	}
	v.text("notes", d.Notes, NotesBytesMax)
	if d.ServiceID != "" {
		v.name("service", d.ServiceID)
	}
	if d.Status > Critical {
		v.add("status", "is not a status")
	}
	v.kind(d.Kind)
	v.times(d)
	return v
}

// times checks the durations and thresholds.
func (v *violations) times(d Definition) {
	if d.DeregisterCriticalAfter != 0 {
		v.duration("deregister_critical_after", d.DeregisterCriticalAfter, DeregisterMin)
		if d.ServiceID == "" {
			v.add("deregister_critical_after", "is set for a check of a node; it removes services only")
		}
	}
	thresholds := []struct {
		field string
		value int
	}{
		{"success_before_passing", d.SuccessBeforePassing},
		{"failures_before_warning", d.FailuresBeforeWarning},
		{"failures_before_critical", d.FailuresBeforeCritical},
	}
	if !d.Probes() {
		if d.Interval != 0 {
			v.add("interval", "is set for a check that nothing is run for")
		}
		if d.Timeout != 0 {
			v.add("timeout", "is set for a check that nothing is run for")
		}
		for _, t := range thresholds {
			if t.value != 0 {
				v.add(t.field, "is set for a check that nothing is run for")
			}
		}
		return
	}
	if d.Interval != 0 {
		v.duration("interval", d.Interval, IntervalMin)
	}
	if d.Timeout != 0 {
		v.duration("timeout", d.Timeout, time.Millisecond)
	}
	for _, t := range thresholds {
		if t.value < 0 || t.value > ThresholdMax {
			v.add(t.field, "is %d; it must be from 1 to %d", t.value, ThresholdMax)
		}
	}
	filled := d.WithDefaults()
	if d.FailuresBeforeWarning > 0 && filled.FailuresBeforeWarning > filled.FailuresBeforeCritical {
		v.add("failures_before_warning", "is %d, more than failures_before_critical, which is %d",
			filled.FailuresBeforeWarning, filled.FailuresBeforeCritical)
	}
}

// kind checks what is particular to a kind.
func (v *violations) kind(kind Kind) {
	switch k := kind.(type) {
	case TTL:
		v.duration("ttl", k.TTL, TTLMin)
	case HTTP:
		v.http(k)
	case TCP:
		v.address("tcp", k.Address)
	case GRPC:
		v.address("grpc", k.Address)
		v.text("grpc_service", k.Service, IDBytesMax)
		if k.TLS != nil {
			v.tls(*k.TLS)
		}
	case Exec:
		v.exec(k)
	case Alias:
		if k.Node == "" && k.Service == "" {
			v.add("alias", "names neither a node nor a service")
		}
		v.text("alias", k.Node, IDBytesMax)
		v.text("alias", k.Service, IDBytesMax)
	default:
		v.add("kind", "is missing: one of ttl, http, tcp, grpc, exec and alias")
	}
}

func (v *violations) http(k HTTP) {
	v.text("http", k.URL, URLBytesMax)
	u, err := url.Parse(k.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		v.add("http", "is %q; it must be a URL that starts with http:// or https://", Cut(k.URL))
	}
	if strings.ContainsFunc(k.Method, func(r rune) bool { return !strings.ContainsRune(tokenRunes, r) }) || len(k.Method) > 32 {
		v.add("method", "is %q, which is not a method of HTTP", Cut(k.Method))
	}
	size, values := 0, 0
	for name, of := range k.Header {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(tokenRunes, r) }) {
			v.add("header", "has the name %q, which is not a name of a header", Cut(name))
		}
		if len(of) == 0 {
			v.add("header", "%q has no value", Cut(name))
		}
		for _, value := range of {
			size, values = size+len(name)+len(value), values+1
			if strings.ContainsFunc(value, func(r rune) bool { return r != '\t' && unicode.IsControl(r) }) {
				v.add("header", "%q has a control character in its value", Cut(name))
			}
		}
	}
	if values > HeadersMax || size > HeaderBytesMax {
		v.add("header", "has %d values of %d bytes in all; the limits are %d and %d", values, size, HeadersMax, HeaderBytesMax)
	}
	if len(k.Body) > BodyBytesMax {
		v.add("body", "is %d bytes long; the limit is %d", len(k.Body), BodyBytesMax)
	}
	v.tls(k.TLS)
}

// tokenRunes may stand in methods and in names of headers.
const tokenRunes = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" //nolint:gosec // Letters, not a secret.

func (v *violations) tls(t TLS) {
	v.text("tls_server_name", t.ServerName, IDBytesMax)
	v.text("tls_ca_file", t.CAFile, URLBytesMax)
}

func (v *violations) exec(k Exec) {
	size := 0
	for _, arg := range k.Args {
		size += len(arg)
		if strings.ContainsRune(arg, 0) {
			v.add("exec", "has an argument with a zero byte")
		}
	}
	switch {
	case len(k.Args) == 0 || k.Args[0] == "":
		v.add("exec", "names no program")
	case len(k.Args) > ArgumentsMax || size > ArgumentBytesMax:
		v.add("exec", "has %d arguments of %d bytes in all; the limits are %d and %d",
			len(k.Args), size, ArgumentsMax, ArgumentBytesMax)
	}
}

// Cut returns at most OutputBytesMax bytes of a text, cut before a rune that does not fit, with bytes that are not
// UTF-8 replaced.
func Cut(text string) string {
	if n := OutputBytesMax + utf8.UTFMax; len(text) > n {
		// What is cut off here must not leave the beginning of a rune behind.
		for i := 0; i < utf8.UTFMax && !utf8.RuneStart(text[n]); i++ {
			n--
		}
		text = text[:n]
	}
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if len(text) <= OutputBytesMax {
		return text
	}
	end := OutputBytesMax
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
