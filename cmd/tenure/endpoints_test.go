package main

import (
	"strings"
	"testing"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/fake"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// All commands agree on what an address of a member is, whether they go through the Go client or not.
func TestEndpointsAreReadTheSameByAllCommands(t *testing.T) {
	member := &fake.Member{
		OnGet: func(*tenurev1.GetRequest) (*tenurev1.GetResponse, error) {
			return &tenurev1.GetResponse{Kv: &tenurev1.KeyValue{Key: "k"}}, nil
		},
		OnStatus: func() (*tenurev1.GetStatusResponse, error) { return &tenurev1.GetStatusResponse{}, nil },
	}
	there, nobody := member.Serve(t), fake.ClosedEndpoint(t)
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
		"a connection string":            {endpoints: "tenure://" + there + "," + nobody},
		"a connection string with slash": {endpoints: "tenure://" + there + "/"},
		"a later one without port":       {endpoints: there + ",localhost"},
		"an IPv6 address without port":   {endpoints: there + ",[::1]"},
		"no host":                        {endpoints: ":7400", bad: true, refused: ":7400"},
		"nothing among others":           {endpoints: there + ",,", bad: true, refused: ""},
		"white space within":             {endpoints: "a b:7400", bad: true, refused: "a b:7400"},
		"a user":                         {endpoints: "me@h:7400", bad: true, refused: "me@h:7400"},
		"a namespace without scheme":     {endpoints: "h/n:7400", bad: true, refused: "h/n:7400"},
		"parameters without scheme":      {endpoints: "h?ttl=1s:7400", bad: true, refused: "h?ttl=1s:7400"},
		"another scheme":                 {endpoints: "http://h:7400", bad: true, refused: "http://h:7400"},
	} {
		for _, command := range []string{"kv get k", "status"} {
			t.Run(name+" for "+command, func(t *testing.T) {
				env, out := fake.EnvironmentAt()
				env.Getenv = func(variable string) (string, bool) { return test.endpoints, variable == "TENURE_ENDPOINTS" }
				code := execute(t.Context(), env, strings.Fields(command))
				if !test.bad {
					if code != cli.ExitOK {
						t.Errorf("got exit code %d: %s", code, out)
					}
					return
				}
				want := "Error! --endpoints: " + cli.Quoted(test.refused) + " is not host:port, with the port as a number from 1 to 65535\n"
				if code != cli.ExitUsage || !strings.HasPrefix(out.String(), want) {
					t.Errorf("got exit code %d and %q, want %d and %q", code, out, cli.ExitUsage, want)
				}
			})
		}
	}
}

// What a connection string says beyond its members is refused by name, so that no command works on other keys than it seems to.
func TestConnectionStringsOfCommandsNameMembersOnly(t *testing.T) {
	for endpoints, want := range map[string]string{
		"tenure://h/n":           `do not support a namespace or parameters in a connection string; leave out "/n"`,
		"tenure://h1,h2?ttl=30s": `leave out "?ttl=30s"`,
		"tenures://h/n":          `leave out "/n"`,
	} {
		env, out := fake.EnvironmentAt()
		if code := execute(t.Context(), env, []string{"kv", "get", "k", "--endpoints", endpoints}); code != cli.ExitUsage || !strings.Contains(out.String(), want) {
			t.Errorf("%s: got exit code %d and %q, want %d and %q", endpoints, code, out, cli.ExitUsage, want)
		}
	}
}
