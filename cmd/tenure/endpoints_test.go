package main

import (
	"strings"
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// All commands agree on what an address of a member is, whether they go through the Go client or not.
func TestEndpointsAreReadTheSameByAllCommands(t *testing.T) {
	member := &fakeMember{
		get: func(*tenurev1.GetRequest) (*tenurev1.GetResponse, error) {
			return &tenurev1.GetResponse{Kv: &tenurev1.KeyValue{Key: "k"}}, nil
		},
		status: func() (*tenurev1.GetStatusResponse, error) { return &tenurev1.GetStatusResponse{}, nil },
	}
	there, nobody := member.serve(t), closedEndpoint(t)
	for name, test := range map[string]struct {
		endpoints string
		bad       bool
		refused   string // Of which it is said that it is no address.
	}{
		"one":                            {endpoints: there},
		"white space around":             {endpoints: " " + nobody + ", " + there + "\n"},
		"a port by name":                 {endpoints: there + ",localhost:http", bad: true, refused: "localhost:http"},
		"a port of nothing":              {endpoints: there + ",h:0", bad: true, refused: "h:0"},
		"a port that there is not":       {endpoints: there + ",h:65536", bad: true, refused: "h:65536"},
		"no port":                        {endpoints: "h," + there, bad: true, refused: "h"},
		"no host":                        {endpoints: ":7400", bad: true, refused: ":7400"},
		"nothing among others":           {endpoints: there + ",,", bad: true, refused: ""},
		"white space within":             {endpoints: "a b:7400", bad: true, refused: "a b:7400"},
		"a user":                         {endpoints: "me@h:7400", bad: true, refused: "me@h:7400"},
		"a namespace":                    {endpoints: "h/n:7400", bad: true, refused: "h/n:7400"},
		"parameters":                     {endpoints: "h?ttl=1s:7400", bad: true, refused: "h?ttl=1s:7400"},
		"a scheme, as for the libraries": {endpoints: "tenure://h:7400", bad: true, refused: "tenure://h:7400"},
	} {
		for _, command := range []string{"kv get k", "status"} {
			t.Run(name+" for "+command, func(t *testing.T) {
				env, out := environmentAt()
				env.getenv = func(variable string) (string, bool) { return test.endpoints, variable == "TENURE_ENDPOINTS" }
				code := execute(t.Context(), env, strings.Fields(command))
				if !test.bad {
					if code != exitOK {
						t.Errorf("got exit code %d: %s", code, out)
					}
					return
				}
				want := "Error! --endpoints: " + quoted(test.refused) + " is not host:port, with the port as a number\n"
				if code != exitUsage || !strings.HasPrefix(out.String(), want) {
					t.Errorf("got exit code %d and %q, want %d and %q", code, out, exitUsage, want)
				}
			})
		}
	}
}
