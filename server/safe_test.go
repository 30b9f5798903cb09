package server_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/storage"
)

// open lets clients of other machines reach a member without TLS.
func open(c *server.Config) { c.ListenAddr, c.Insecure = "0.0.0.0:0", true }

// whyNotServed runs a member that is refused at its start, and returns why.
func whyNotServed(t *testing.T, adjust ...func(*server.Config)) error {
	t.Helper()
	config := server.Config{DataDir: "data", FS: storage.NewMemFS(), ListenAddr: "127.0.0.1:0", HTTPAddr: "127.0.0.1:0", PeerAddr: "127.0.0.1:0", Tick: clusterTick}
	for _, a := range adjust {
		a(&config)
	}
	s, err := server.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(t.Context()) }()
	select {
	case err = <-ended:
		return err
	case <-s.Ready():
		t.Fatal("the member serves")
	case <-time.After(patience):
		t.Fatal("the member neither serves nor ends")
	}
	return nil
}

// hasProblem returns the message of a problem in a member's status, and its runbook; empty: it does not have it.
func (m *member) hasProblem(t *testing.T, name string) (message, runbook string) {
	t.Helper()
	st, err := m.GetStatus(t.Context(), &tenurev1.GetStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range st.GetProblems() {
		if p.GetName() == name {
			return p.GetMessage(), p.GetRunbook()
		}
	}
	return "", ""
}

// TestTokensAreNotTakenInTheClear starts members of a cluster with tokens whose clients have no TLS: one that was away when the tokens were made, on a
// directory that knows of them, and by joining.
func TestTokensAreNotTakenInTheClear(t *testing.T) {
	const whatToDo = "give --cert-file and --key-file, or loopback addresses only"
	a := newAuthority(t)
	first := startMember(t, func(c *server.Config) { c.Name, c.Tick = "first", clusterTick }, a.securePeers)
	// joins returns settings of a member that joins, on a disk.
	joins := func(name string, disk storage.FS) func(*server.Config) {
		t.Helper()
		made, err := addMember(t, first, &tenurev1.AddMemberRequest{Name: name, StayLearner: true})
		if err != nil {
			t.Fatal(err)
		}
		return func(c *server.Config) {
			c.Name, c.FS, c.Tick, c.Join, c.JoinToken = name, disk, clusterTick, []string{first.at.Peer}, made.GetJoinToken()
			a.securePeers(c)
		}
	}
	known := func(name string, disk storage.FS) func(*server.Config) {
		return func(c *server.Config) {
			c.Name, c.FS, c.Tick = name, disk, clusterTick
			a.securePeers(c)
		}
	}
	disk, other := storage.NewMemFS(), storage.NewMemFS()
	const metric = "tenure_certs_listener_without_tls"
	registry := prometheus.NewRegistry()
	measured := func(c *server.Config) { c.Registry = registry }
	away := startMember(t, joins("away", disk), measured)
	if message, _ := away.hasProblem(t, "listener-without-tls"); message != "" {
		t.Errorf("without tokens: %s", message)
	}
	awaitGauge(t, registry, metric, 0)
	away.stop()
	if err := away.wait(); err != nil {
		t.Fatal(err)
	}
	await(t, "the first token is made", func() bool {
		_, err := first.auth().BootstrapAuth(t.Context(), &tenurev1.BootstrapAuthRequest{Token: identity.NewToken()})
		return err == nil
	})

	registry = prometheus.NewRegistry()
	again := startMember(t, known("away", disk), open, measured)
	await(t, "the member that was away says that it is not safe", func() bool {
		message, runbook := again.hasProblem(t, "listener-without-tls")
		return strings.Contains(message, "--listen") && strings.Contains(message, whatToDo) &&
			strings.HasSuffix(runbook, "/docs/operations.md#listener-without-tls")
	})
	awaitGauge(t, registry, metric, 1)
	again.stop()
	if err := again.wait(); err != nil {
		t.Fatal(err)
	}
	if err := whyNotServed(t, known("away", disk), open); !errors.Is(err, server.ErrConfig) || !strings.Contains(err.Error(), whatToDo) {
		t.Errorf("on a directory that knows of tokens: got %v, want what to do", err)
	}
	startMember(t, known("away", disk))

	late := joins("late", other)
	if err := whyNotServed(t, late, open); err == nil || !strings.Contains(err.Error(), whatToDo) {
		t.Errorf("a member that joins: got %v, want what to do", err)
	}
	list, err := first.ListMembers(t.Context(), &tenurev1.ListMembersRequest{})
	if err != nil || len(list.GetMembers()) != 2 {
		t.Errorf("got %v, %v, want that nobody was added", list, err)
	}
	joined := startMember(t, late) // With the same token.
	if message, _ := joined.hasProblem(t, "listener-without-tls"); message != "" {
		t.Errorf("on loopback addresses: %s", message)
	}
}
