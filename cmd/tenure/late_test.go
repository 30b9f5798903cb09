package main

import (
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/fake"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// deafAtFirst is a listener whose first connection nobody ever serves.
type deafAtFirst struct {
	net.Listener

	once  sync.Once
	first net.Conn
}

// Accept returns the next connection, other than the first.
func (d *deafAtFirst) Accept() (net.Conn, error) {
	var failed error
	d.once.Do(func() { d.first, failed = d.Listener.Accept() })
	if failed != nil {
		return nil, failed
	}
	return d.Listener.Accept()
}

// Close closes the listener and the first connection.
func (d *deafAtFirst) Close() error {
	err := d.Listener.Close()
	d.once.Do(func() {})
	if d.first != nil {
		err = errors.Join(err, d.first.Close())
	}
	return err
}

// A member that stands still for a while is waited for as long as --timeout allows.
func TestCommandsWaitForAMemberThatIsLate(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"status", "kv get k"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			inner, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			member := &fake.Member{
				OnGet: func(*tenurev1.GetRequest) (*tenurev1.GetResponse, error) {
					return &tenurev1.GetResponse{Kv: &tenurev1.KeyValue{Key: "k"}}, nil
				},
				OnStatus: func() (*tenurev1.GetStatusResponse, error) { return &tenurev1.GetStatusResponse{}, nil },
			}
			env, out := fake.EnvironmentAt()
			args := append(strings.Fields(command), "--timeout", fake.Patience.String(), "--endpoints", member.ServeOn(t, &deafAtFirst{Listener: inner}))
			if code := execute(t.Context(), env, args); code != cli.ExitOK {
				t.Errorf("got exit code %d and %q", code, out)
			}
		})
	}
}
