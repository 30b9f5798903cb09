package tenure_test

import (
	"errors"
	"slices"
	"testing"

	tenure "github.com/tenure-io/tenure/clients/go"
)

func TestConnectionStrings(t *testing.T) {
	tests := map[string]struct {
		text      string
		members   []string
		namespace string
		tls       bool
		bad       bool
	}{
		"one member with the usual port":      {text: "tenure://h1", members: []string{"h1:7400"}},
		"several members and a namespace":     {text: "tenure://h1:1,h2:2/app", members: []string{"h1:1", "h2:2"}, namespace: "app"},
		"a namespace with slashes":            {text: "tenure://h1:1/a/b/", members: []string{"h1:1"}, namespace: "a/b"},
		"a namespace with other characters":   {text: "tenure://h1:1/caf%C3%A9%20x", members: []string{"h1:1"}, namespace: "café x"},
		"IPv6, with port and without":         {text: "tenure://[::1]:7,[::2]", members: []string{"[::1]:7", "[::2]:7400"}},
		"TLS":                                 {text: "tenures://h1:1/x?ttl=5s", members: []string{"h1:1"}, namespace: "x", tls: true},
		"all parameters":                      {text: "tenure://h1:1/x?ttl=1m30s&lock_delay=0s&name=me", members: []string{"h1:1"}, namespace: "x"},
		"another scheme":                      {text: "http://h1", bad: true},
		"no scheme":                           {text: "h1:7400", members: []string{"h1:7400"}},
		"no scheme, and all the rest":         {text: "h1,h2:1/app?ttl=5s", members: []string{"h1:7400", "h2:1"}, namespace: "app"},
		"nothing":                             {text: "", bad: true},
		"no member":                           {text: "tenure:///app", bad: true},
		"an empty member among others":        {text: "tenure://h1,,h2/app", bad: true},
		"a port of nothing":                   {text: "tenure://h1:0/app", bad: true},
		"a port that there is not":            {text: "tenure://h1:99999/app", bad: true},
		"a user":                              {text: "tenure://me@h1/app", bad: true},
		"an unknown parameter":                {text: "tenure://h1/app?tll=5s", bad: true},
		"a parameter twice":                   {text: "tenure://h1/app?ttl=5s&ttl=6s", bad: true},
		"a TTL that is no duration":           {text: "tenure://h1/app?ttl=5", bad: true},
		"a negative TTL":                      {text: "tenure://h1/app?ttl=-1s", bad: true},
		"sessions without TTL":                {text: "tenure://h1/app?ttl=0", members: []string{"h1:7400"}, namespace: "app"},
		"a namespace that is escaped wrongly": {text: "tenure://h1/%zz", bad: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			members, namespace, tls, err := tenure.ParseTarget(test.text)
			if test.bad {
				if !errors.Is(err, tenure.ErrInvalidArgument) {
					t.Errorf("got %v, %v; want ErrInvalidArgument", members, err)
				}
				return
			}
			if err != nil || !slices.Equal(members, test.members) || namespace != test.namespace || tls != test.tls {
				t.Errorf("got %v %q %v, %v", members, namespace, tls, err)
			}
		})
	}
}
