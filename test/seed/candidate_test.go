package seed_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenure-io/tenure/test/rig"
)

// leaderKey is the key of the guide.
const leaderKey = "service/leader"

// candidate is one way to take part in the election.
type candidate interface {
	createSession(name string, ttl, lockDelay time.Duration) (id string)
	// acquire returns what the program printed, which names the holder when it was refused.
	acquire(id, value string) (acquired bool, printed string)
	release(id string) (released bool)
	destroy(id string, clean bool)
	// watchNext waits for the next event on the key or its lock after a revision.
	watchNext(afterRevision uint64)
	// get returns the key's value and holder.
	get() (value, holder string, revision uint64)
}

// caller is what all programs need: whom they call, and as whom.
type caller struct {
	t     *testing.T
	m     *rig.Member
	token string // Empty: they show none.
	// refused is where what a call printed is left when it fails. Without it, a call that fails ends the test.
	refused *string
}

// run runs a program and returns its outputs and exit code.
func (c caller) run(stdin, program string, args ...string) (stdout, stderr string, code int) {
	t := c.t
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errOut
	cmd.Env = append(os.Environ(), "NO_PROXY=*", "TENURE_TOKEN="+c.token)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s %q: %v", program, args, err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// failed says what a program printed whose call was not served.
func (c caller) failed(call, stdout, stderr string, code int) {
	c.t.Helper()
	if c.refused == nil {
		c.t.Fatalf("%s: exit code %d\n%s%s", call, code, stdout, stderr)
	}
	*c.refused = stdout + stderr
}

// answer is what the JSON answers of REST and grpcurl have in common.
type answer struct {
	SessionID string `json:"sessionId"`
	Acquired  bool   `json:"acquired"`
	Released  bool   `json:"released"`
	KV        struct {
		Value     []byte `json:"value"`
		SessionID string `json:"sessionId"`
	} `json:"kv"`
	Header struct {
		Revision string `json:"revision"`
	} `json:"header"`
}

// decode reads an answer; that of a call that was refused is empty.
func (c caller) decode(text string) (a answer) {
	c.t.Helper()
	if c.refused != nil && *c.refused != "" {
		return answer{}
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		c.t.Fatalf("not a JSON answer: %v\n%s", err, text)
	}
	return a
}

// kv reads an answer about the key.
func (c caller) kv(text string) (value, holder string, revision uint64) {
	c.t.Helper()
	a := c.decode(text)
	revision, err := strconv.ParseUint(cmp.Or(a.Header.Revision, "0"), 10, 64)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(a.KV.Value), a.KV.SessionID, revision
}

// byCurl takes part over REST.
type byCurl struct{ caller }

func (c byCurl) call(method, path, body string) string {
	c.t.Helper()
	args := []string{"--silent", "--show-error", "--fail-with-body", "--request", method, "--data-binary", "@-"}
	if c.token != "" {
		args = append(args, "--oauth2-bearer", c.token)
	}
	out, stderr, code := c.run(body, "curl", append(args, "http://"+c.m.Addresses.HTTP+path)...)
	if code != 0 {
		c.failed("curl "+method+" "+path, out, stderr, code)
	}
	return out
}

func (c byCurl) createSession(name string, ttl, lockDelay time.Duration) string {
	body, _ := json.Marshal(map[string]string{"name": name, "ttl": seconds(ttl), "lockDelay": seconds(lockDelay)})
	return c.decode(c.call("POST", "/v1/sessions", string(body))).SessionID
}

func (c byCurl) acquire(id, value string) (bool, string) {
	out := c.call("PUT", "/v1/kv/"+leaderKey+"?acquire="+id, value)
	return c.decode(out).Acquired, out
}

func (c byCurl) release(id string) bool {
	return c.decode(c.call("PUT", "/v1/kv/"+leaderKey+"?release="+id, "")).Released
}

func (c byCurl) destroy(id string, clean bool) {
	c.call("DELETE", "/v1/sessions/"+id+"?clean="+strconv.FormatBool(clean), "")
}

func (c byCurl) watchNext(after uint64) {
	query := url.Values{
		"keys": {leaderKey}, "locks": {leaderKey}, "limit": {"1"}, "wait": {"30s"},
		"afterRevision": {strconv.FormatUint(after, 10)},
	}
	c.call("GET", "/v1/watch?"+query.Encode(), "")
}

func (c byCurl) get() (value, holder string, rev uint64) {
	return c.kv(c.call("GET", "/v1/kv/"+leaderKey, ""))
}

// byGRPCurl takes part over gRPC, knowing nothing but what reflection tells.
type byGRPCurl struct{ caller }

func (c byGRPCurl) call(method string, request map[string]any) string {
	c.t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		c.t.Fatal(err)
	}
	args := []string{"-plaintext", "-d", "@"}
	if c.token != "" {
		args = append(args, "-H", "authorization: Bearer "+c.token)
	}
	out, stderr, code := c.run(string(body), grpcurl, append(args, c.m.Addresses.GRPC, "tenure.v1."+method)...)
	if code != 0 {
		c.failed("grpcurl "+method+" "+string(body), out, stderr, code)
	}
	return out
}

func (c byGRPCurl) createSession(name string, ttl, lockDelay time.Duration) string {
	return c.decode(c.call("SessionService/CreateSession",
		map[string]any{"name": name, "ttl": seconds(ttl), "lockDelay": seconds(lockDelay)})).SessionID
}

func (c byGRPCurl) acquire(id, value string) (bool, string) {
	out := c.call("KVService/Put", map[string]any{"key": leaderKey, "text": value, "acquire": id})
	return c.decode(out).Acquired, out
}

func (c byGRPCurl) release(id string) bool {
	return c.decode(c.call("KVService/Put", map[string]any{"key": leaderKey, "text": "", "release": id})).Released
}

func (c byGRPCurl) destroy(id string, clean bool) {
	c.call("SessionService/DestroySession", map[string]any{"sessionId": id, "clean": clean})
}

func (c byGRPCurl) watchNext(after uint64) {
	c.call("WatchService/Watch", map[string]any{
		"keys": []string{leaderKey}, "locks": []string{leaderKey}, "limit": 1, "wait": "30s", "afterRevision": after,
	})
}

func (c byGRPCurl) get() (value, holder string, rev uint64) {
	return c.kv(c.call("KVService/Get", map[string]any{"key": leaderKey}))
}

// byCommand takes part with the tenure command.
type byCommand struct{ caller }

func (c byCommand) call(want int, args ...string) (stdout, stderr string, code int) {
	c.t.Helper()
	out, errOut, code := c.run("", binary, append([]string{"--endpoints", c.m.Addresses.GRPC}, args...)...)
	if code != 0 && (code != want || c.refused != nil) {
		c.failed(fmt.Sprintf("tenure %q", args), out, errOut, code)
	}
	return out, errOut, code
}

func (c byCommand) createSession(name string, ttl, lockDelay time.Duration) string {
	out, _, _ := c.call(0, "session", "create", "--name", name, "--ttl", ttl.String(), "--lock-delay", lockDelay.String())
	return strings.TrimSpace(out)
}

func (c byCommand) acquire(id, value string) (bool, string) {
	out, stderr, code := c.call(1, "kv", "put", leaderKey, value, "--acquire", id)
	if want := "Success! Lock acquired on: " + leaderKey; code == 0 && strings.TrimSpace(out) != want {
		c.t.Errorf("got %q, want %q", out, want)
	}
	if want := "Error! Did not acquire lock"; code == 1 && c.refused == nil && !strings.HasPrefix(stderr, want) {
		c.t.Errorf("got %q, want %q…", stderr, want)
	}
	return code == 0, out + stderr
}

func (c byCommand) release(id string) bool {
	out, _, code := c.call(1, "kv", "put", leaderKey, "", "--release", id)
	if want := "Success! Lock released on: " + leaderKey; code == 0 && strings.TrimSpace(out) != want {
		c.t.Errorf("got %q, want %q", out, want)
	}
	return code == 0
}

func (c byCommand) destroy(id string, clean bool) {
	c.call(0, "session", "destroy", id, "--clean="+strconv.FormatBool(clean))
}

func (c byCommand) watchNext(after uint64) {
	c.call(0, "watch", leaderKey, "--locks", "--from", strconv.FormatUint(after, 10), "--once")
}

func (c byCommand) get() (value, holder string, rev uint64) {
	out, _, _ := c.call(0, "kv", "get", leaderKey, "-o", "json")
	return c.kv(out)
}

// seconds writes a duration as protobuf's JSON does.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}
