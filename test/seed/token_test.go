package seed_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/test/rig"
)

// What the procedure needs, as the guide of today calls it and as policies say it.
const (
	sessionWrite = `session "first candidate" write` + "\n" + `session "second candidate" write` + "\n"
	keyWrite     = `key "` + leaderKey + `" rw` + "\n"
)

// TestElectionWithATokenForSessionsAndTheKey goes through the procedure where a member enforces, with a token that may write sessions of the
// candidates' names and the key, and nothing else. That is enough. With a token that lacks one of the two, each step that needs it is refused,
// and what is printed names the rule that would allow it.
func TestElectionWithATokenForSessionsAndTheKey(t *testing.T) {
	if testing.Short() {
		t.Skip("the election of the guide is enough with -short")
	}
	for name, program := range programs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := rig.Start(t.Context(), t, binary, "--peer", "off") // Else tokens need TLS between members.
			admin := enforce(t, m)
			both := admin.tokenFor("both", sessionWrite+keyWrite)
			for sentence, handOver := range handOvers {
				t.Run(sentence, func(t *testing.T) { handOver.run(caller{t: t, m: m, token: both}, program) })
			}
			session := program(caller{t: t, m: m, token: both}).createSession("first candidate", longTTL, 0)
			refusals(t, program, caller{m: m, token: admin.tokenFor("no-session", keyWrite)}, session, map[string]string{
				"create a session": `session "first candidate" write`,
				"acquire":          "session id " + session + " write",
				"destroy":          "session id " + session + " write",
			})
			refusals(t, program, caller{m: m, token: admin.tokenFor("no-key", sessionWrite)}, session, map[string]string{
				"acquire": `key "` + leaderKey + `" `,
				"release": `key "` + leaderKey + `" `,
				"watch":   `key "` + leaderKey + `" `,
				"get":     `key "` + leaderKey + `" read`,
			})
		})
	}
}

// refusals takes steps of the procedure with a token that does not suffice for them. Each prints that the right is missing, and which one.
func refusals(t *testing.T, program func(caller) candidate, by caller, session string, needs map[string]string) {
	t.Helper()
	steps := map[string]func(candidate){
		"create a session": func(c candidate) { c.createSession("first candidate", longTTL, 0) },
		"acquire":          func(c candidate) { c.acquire(session, "v") },
		"release":          func(c candidate) { c.release(session) },
		"destroy":          func(c candidate) { c.destroy(session, true) },
		"watch":            func(c candidate) { c.watchNext(1) },
		"get":              func(c candidate) { c.get() },
	}
	for step, need := range needs {
		var printed string
		by.t, by.refused = t, &printed
		steps[step](program(by))
		// Answers in JSON escape the quotes of a rule.
		if said := strings.ReplaceAll(printed, `\"`, `"`); !strings.Contains(said, "does not have the right "+need) {
			t.Errorf("%s: printed %q, want that the right %s is missing", step, printed, need)
		}
	}
}

// enforce makes the first token of a member, and has it enforce.
func enforce(t *testing.T, m *rig.Member) byCommand {
	t.Helper()
	c := byCommand{caller{t: t, m: m}}
	out := t.TempDir() + "/admin.token"
	c.call(0, "auth", "bootstrap", "--mode", "enforce", "--out", out)
	c.token = read(t, out)
	return c
}

// tokenFor puts a policy, and returns the text of a token with it.
func (c byCommand) tokenFor(name, policy string) string {
	c.t.Helper()
	if out, stderr, code := c.run(policy, binary, "--endpoints", c.m.Addresses.GRPC, "auth", "policy", "put", name, "-"); code != 0 {
		c.t.Fatalf("put policy %s: %s%s", name, out, stderr)
	}
	out, _, _ := c.call(0, "auth", "token", "create", "--name", name, "--policy", name)
	return strings.TrimSpace(out)
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
