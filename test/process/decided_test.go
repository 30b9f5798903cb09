package process_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// TestNothingIsDecidedByAMemberThatIsCutOff revokes a token while the member of an agent hears nothing from the others. That member says no more
// whose the token is and what it may do, and the agent registers nothing for whoever shows it, either then or once the member is back.
func TestNothingIsDecidedByAMemberThatIsCutOff(t *testing.T) {
	t.Parallel() // It mostly waits for time-outs.
	ctx := t.Context()
	c := rig.StartLinkedCluster(ctx, t, binary, 3, peerTLS(t)...)
	admin := withToken(ctx, bootstrapped(ctx, t, c))
	deaf, other := 0, 1
	if c.Members[deaf] == c.Leader(ctx) {
		deaf, other = 1, 0
	}
	conn, healthy := c.Members[deaf].Dial(), c.Members[other].Dial()
	defer func() { _ = conn.Close() }()
	defer func() { _ = healthy.Close() }()
	auth, elsewhere := tenurev1.NewAuthServiceClient(conn), tenurev1.NewAuthServiceClient(healthy)
	token := func(name, rules string) (text, accessor string) {
		t.Helper()
		if _, err := elsewhere.PutPolicy(admin, &tenurev1.PutPolicyRequest{Name: name, Rules: rules}); err != nil {
			t.Fatal(err)
		}
		made, err := elsewhere.CreateToken(admin, &tenurev1.CreateTokenRequest{Name: name, Policies: []string{name}})
		if err != nil {
			t.Fatal(err)
		}
		return made.GetText(), made.GetToken().GetAccessor()
	}
	own, _ := token("agent", "node * write\nservice * write\n")
	program, accessor := token("program", "node \"web1\" write\nservice \"web\" write\n")
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	agent := rig.NewAgent(t, binary, "web1", c.Members[deaf].Addresses.GRPC, "--gossip", "off", "--consul-http", "127.0.0.1:0", "--token-file", file)
	agent.Restart(ctx)

	asks := map[string]func(ctx context.Context) error{
		"WhoAmI": func(ctx context.Context) error {
			_, err := auth.WhoAmI(ctx, &tenurev1.WhoAmIRequest{})
			return err
		},
		"CheckAccess": func(ctx context.Context) error {
			_, err := auth.CheckAccess(ctx, &tenurev1.CheckAccessRequest{Rule: `service "web" write`})
			return err
		},
	}
	shown := withToken(ctx, program)
	for name, ask := range asks {
		until(ctx, t, name+" with the token", func() bool { return ask(shown) == nil })
	}
	if code, said := consul(ctx, t, agent, program, http.MethodPut, "service/register", `{"Name": "web", "ID": "before"}`); code != http.StatusOK {
		t.Fatalf("a service is not registered: %d %s", code, said)
	}

	c.Links[deaf].Block("in")
	if _, err := elsewhere.RevokeToken(admin, &tenurev1.RevokeTokenRequest{Accessor: accessor}); err != nil {
		t.Fatal(err)
	}
	code, said := consul(ctx, t, agent, program, http.MethodPut, "service/register", `{"Name": "web", "ID": "after"}`)
	if code == http.StatusOK {
		t.Error("the agent registered a service for a token that was revoked")
	}
	t.Logf("the agent says: %d %s", code, said)
	for name, ask := range asks {
		call, cancel := context.WithTimeout(shown, revokedCallTime)
		if err := ask(call); err == nil {
			t.Errorf("%s: a member that is cut off answers for a token that was revoked", name)
		}
		cancel()
	}
	c.Links[deaf].Heal()
	until(ctx, t, "the member is back", func() bool { return refused(asks["WhoAmI"](shown)) })
	if _, said = consul(ctx, t, agent, "", http.MethodGet, "services", ""); strings.Contains(said, "after") || !strings.Contains(said, "before") {
		t.Errorf("the agent has %s, want what was registered before alone", said)
	}
}

// consul makes a request for a client of Consul to the agent itself, with a token or none.
func consul(ctx context.Context, t *testing.T, agent *rig.Agent, token, method, path, body string) (code int, said string) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+agent.Consul+"/v1/agent/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("X-Consul-Token", token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(all)
}

// refused reports whether an error says that a credential is not accepted.
func refused(err error) bool { return status.Code(err) == codes.Unauthenticated }
