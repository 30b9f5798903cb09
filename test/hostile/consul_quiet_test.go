package hostile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// quietConsul is a client of Consul that does what clients do, one request after the other, in rounds.
type quietConsul struct {
	*rounds
	address string
	// shares says that the attacker has the same share of the member, because an agent makes the calls of both: there may be no room for a while.
	shares  bool
	client  *http.Client
	session string
}

// startQuietConsul starts a quiet client of an address that serves clients of Consul.
func startQuietConsul(t *testing.T, address string, shares bool) *quietConsul {
	t.Helper()
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(quietAddress)}}
	q := &quietConsul{rounds: newRounds(), address: address, shares: shares, client: &http.Client{Transport: &http.Transport{
		// A connection for each request shows whether there is room for one.
		DisableKeepAlives: true, DialContext: from.DialContext,
	}}}
	body, err := q.again(t.Context(), http.MethodPut, "session/create", `{"TTL":"1h","NodeChecks":[]}`)
	var created struct{ ID string }
	if err = errors.Join(err, json.Unmarshal([]byte(body), &created)); err != nil {
		t.Fatal(err)
	}
	q.session = created.ID
	q.begin(t, q.round)
	return q
}

// round puts and reads a key, takes and releases a lock, renews the session, and waits for a change that has been made.
func (q *quietConsul) round(ctx context.Context, round int) error {
	const key, lock = "kv/quiet/consul", "kv/quiet/consul-lock"
	value := fmt.Sprint(round)
	var errs []error
	for _, step := range []struct{ method, path, body, want string }{
		{http.MethodPut, key, value, "true"},
		{http.MethodGet, key + "?raw", "", value},
		{http.MethodGet, key + "?raw&index=2&wait=10m", "", value},
		{http.MethodPut, lock + "?acquire=" + q.session, value, "true"},
		{http.MethodPut, lock + "?release=" + q.session, value, "true"},
		{http.MethodPut, "session/renew/" + q.session, "", `[{"ID":"` + q.session},
	} {
		body, err := q.again(ctx, step.method, step.path, step.body)
		if err == nil && !strings.HasPrefix(body, step.want) {
			err = fmt.Errorf("%s %s: got %q, want %q", step.method, step.path, body, step.want)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// again sends a request until a leader serves it.
func (q *quietConsul) again(ctx context.Context, method, path, body string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, method, "http://"+q.address+"/v1/"+path, strings.NewReader(body))
		if err != nil {
			return "", err
		}
		answer, err := q.client.Do(request)
		if err != nil {
			return "", fmt.Errorf("%s %s: %w", method, path, err)
		}
		got, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close() // It was read.
		if err == nil && answer.StatusCode == http.StatusOK {
			return string(got), nil
		}
		again := string(got) == textNoLeader || q.shares && answer.StatusCode == http.StatusTooManyRequests
		if !again || ctx.Err() != nil {
			return "", fmt.Errorf("%s %s: got %d %.300q, %w", method, path, answer.StatusCode, got, err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}
