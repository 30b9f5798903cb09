package check_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tenure-io/tenure/agent/check"
)

func TestViolations(t *testing.T) {
	tcp := check.TCP{Address: "127.0.0.1:80"}
	http := func(change func(*check.HTTP)) check.Definition {
		k := check.HTTP{URL: "http://127.0.0.1/health"}
		change(&k)
		return check.Definition{ID: "c", Kind: k}
	}
	tests := map[string]struct {
		def check.Definition
		// want is the field of each violation; empty: none.
		want string
	}{
		"a complete definition":            {check.Definition{ID: "c", ServiceID: "s", Kind: tcp, Interval: time.Second, Timeout: time.Minute, DeregisterCriticalAfter: time.Minute, Status: check.Warning}, ""},
		"no id":                            {check.Definition{Kind: tcp}, "id"},
		"a long id":                        {check.Definition{ID: strings.Repeat("x", 256), Kind: tcp}, "id"},
		"a line break in an id":            {check.Definition{ID: "a\nb", Kind: tcp}, "id"},
		"an id that is not UTF-8":          {check.Definition{ID: "a\xff", Kind: tcp}, "id"},
		"the cluster's check":              {check.Definition{ID: "liveness", Kind: tcp}, "id"},
		"the cluster's check for Consul":   {check.Definition{ID: "serfHealth", Kind: tcp}, "id"},
		"maintenance":                      {check.Definition{ID: "_maintenance:web", Kind: tcp}, "id"},
		"no kind":                          {check.Definition{ID: "c"}, "kind"},
		"an interval of nothing":           {check.Definition{ID: "c", Kind: tcp, Interval: time.Millisecond}, "interval"},
		"an interval of a year":            {check.Definition{ID: "c", Kind: tcp, Interval: 365 * 24 * time.Hour}, "interval"},
		"a negative interval":              {check.Definition{ID: "c", Kind: tcp, Interval: -time.Second}, "interval"},
		"a negative time-out":              {check.Definition{ID: "c", Kind: tcp, Timeout: -1}, "timeout"},
		"an interval for a TTL":            {check.Definition{ID: "c", Kind: check.TTL{TTL: time.Minute}, Interval: time.Minute}, "interval"},
		"a threshold for a TTL":            {check.Definition{ID: "c", Kind: check.TTL{TTL: time.Minute}, FailuresBeforeWarning: 1}, "failures_before_warning"},
		"a negative threshold":             {check.Definition{ID: "c", Kind: tcp, SuccessBeforePassing: -1}, "success_before_passing"},
		"a huge threshold":                 {check.Definition{ID: "c", Kind: tcp, FailuresBeforeCritical: 1001}, "failures_before_critical"},
		"a warning after critical":         {check.Definition{ID: "c", Kind: tcp, FailuresBeforeWarning: 3, FailuresBeforeCritical: 2}, "failures_before_warning"},
		"a TTL of nothing":                 {check.Definition{ID: "c", Kind: check.TTL{}}, "ttl"},
		"removal after a second":           {check.Definition{ID: "c", ServiceID: "s", Kind: tcp, DeregisterCriticalAfter: time.Second}, "deregister_critical_after"},
		"removal of a node":                {check.Definition{ID: "c", Kind: tcp, DeregisterCriticalAfter: time.Hour}, "deregister_critical_after"},
		"long notes":                       {check.Definition{ID: "c", Kind: tcp, Notes: strings.Repeat("x", 4097)}, "notes"},
		"an unknown status":                {check.Definition{ID: "c", Kind: tcp, Status: 9}, "status"},
		"an address without port":          {check.Definition{ID: "c", Kind: check.TCP{Address: "localhost"}}, "tcp"},
		"an address without host":          {check.Definition{ID: "c", Kind: check.TCP{Address: ":80"}}, "tcp"},
		"port 0":                           {check.Definition{ID: "c", Kind: check.TCP{Address: "[::1]:0"}}, "tcp"},
		"a named port":                     {check.Definition{ID: "c", Kind: check.GRPC{Address: "localhost:grpc"}}, "grpc"},
		"a URL of a file":                  {http(func(k *check.HTTP) { k.URL = "file:///etc/passwd" }), "http"},
		"a URL without host":               {http(func(k *check.HTTP) { k.URL = "http://:80/" }), "http"},
		"two methods":                      {http(func(k *check.HTTP) { k.Method = "GET POST" }), "method"},
		"a method with a line break":       {http(func(k *check.HTTP) { k.Method = "GET\r\nHost: x" }), "method"},
		"a header's value that splits":     {http(func(k *check.HTTP) { k.Header = map[string][]string{"A": {"a\r\nb: c"}} }), "header"},
		"a header's name that splits":      {http(func(k *check.HTTP) { k.Header = map[string][]string{"A: b\r\nC": {"d"}} }), "header"},
		"many headers":                     {http(func(k *check.HTTP) { k.Header = map[string][]string{"A": make([]string, 65)} }), "header"},
		"a header without a value":         {http(func(k *check.HTTP) { k.Header = map[string][]string{strings.Repeat("A", 20_000): nil} }), "header"},
		"a large body":                     {http(func(k *check.HTTP) { k.Body = strings.Repeat("x", 4097) }), "body"},
		"no program":                       {check.Definition{ID: "c", Kind: check.Exec{}}, "exec"},
		"a zero byte in an argument":       {check.Definition{ID: "c", Kind: check.Exec{Args: []string{"a", "\x00"}}}, "exec"},
		"many arguments":                   {check.Definition{ID: "c", Kind: check.Exec{Args: append([]string{"a"}, make([]string, 128)...)}}, "exec"},
		"an alias of nothing":              {check.Definition{ID: "c", Kind: check.Alias{}}, "alias"},
		"everything wrong is said at once": {check.Definition{Notes: "\xff", Kind: check.TTL{}}, "id notes ttl"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var fields []string
			for _, v := range test.def.Violations() {
				fields = append(fields, v.Field)
				if !utf8.ValidString(v.Problem) {
					t.Errorf("the problem of %s is not UTF-8: %q", v.Field, v.Problem)
				}
			}
			if got := strings.Join(fields, " "); got != test.want {
				t.Errorf("violations: got %q, want %q", got, test.want)
			}
		})
	}
}

func TestCut(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"a short text stays":                  {"héllo", "héllo"},
		"a long one is cut":                   {strings.Repeat("x", 9000), strings.Repeat("x", 4096)},
		"before a rune that does not fit":     {strings.Repeat("x", 4095) + "é" + strings.Repeat("x", 20), strings.Repeat("x", 4095)},
		"and after one that does":             {strings.Repeat("x", 4094) + "é" + strings.Repeat("x", 20), strings.Repeat("x", 4094) + "é"},
		"bytes that are no text are replaced": {"a\xffb", "a\ufffdb"},
		"also where it is cut":                {strings.Repeat("\xff", 9000), "\ufffd"},
		"and runes of four bytes":             {strings.Repeat("😀", 2000), strings.Repeat("😀", 1024)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := check.Cut(test.text); got != test.want {
				t.Errorf("got %d bytes %.40q, want %d bytes %.40q", len(got), got, len(test.want), test.want)
			}
		})
	}
}

func TestEqualDefinitions(t *testing.T) {
	base := func() check.Definition {
		return check.Definition{ID: "c", Kind: check.HTTP{URL: "http://a/", Header: map[string][]string{"A": {"b"}}}}
	}
	if !base().Equal(base()) {
		t.Error("a definition differs from itself")
	}
	others := map[string]check.Definition{
		"another kind":   {ID: "c", Kind: check.TCP{Address: "a:1"}},
		"another header": {ID: "c", Kind: check.HTTP{URL: "http://a/", Header: map[string][]string{"A": {"c"}}}},
		"another id":     {ID: "d", Kind: check.HTTP{URL: "http://a/", Header: map[string][]string{"A": {"b"}}}},
	}
	for name, other := range others {
		if base().Equal(other) || other.Equal(base()) {
			t.Errorf("%s is not seen", name)
		}
	}
}
