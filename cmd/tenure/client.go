package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	tenure "github.com/tenure-io/tenure/clients/go"
)

// client returns a client of the members that the flags name, connected to one of them. Close it.
func (e *environment) client(ctx context.Context, more ...tenure.Option) (*tenure.Client, error) {
	return e.connected(more, func(c *tenure.Client) error { return c.Connect(ctx) })
}

// patientClient is client, but tries again until ctx ends when members do not answer in time. Where nobody listens, or who
// listens is no member, it fails at once.
func (e *environment) patientClient(ctx context.Context, more ...tenure.Option) (*tenure.Client, error) {
	return e.connected(more, func(c *tenure.Client) error {
		var before error
		for {
			err := c.Connect(ctx)
			if err == nil {
				return nil
			}
			if before != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return before // It says at which addresses nobody answered.
			}
			unreachable, ok := errors.AsType[*tenure.UnreachableError](err)
			if ctx.Err() != nil || !ok || !late(unreachable.Causes) {
				return err
			}
			before = err
		}
	})
}

// late reports whether a member that was tried did not answer in time, and may answer later.
func late(causes []error) bool {
	return slices.ContainsFunc(causes, func(cause error) bool {
		timed, ok := errors.AsType[interface {
			error
			Timeout() bool
		}](cause)
		return errors.Is(cause, errNoAnswer) || ok && timed.Timeout()
	})
}

// connected returns a client of the members that the flags name, once connect has connected it.
func (e *environment) connected(more []tenure.Option, connect func(*tenure.Client) error) (*tenure.Client, error) {
	if err := checkEndpoints(e.endpoints); err != nil {
		return nil, err
	}
	options := append([]tenure.Option{tenure.WithUserAgent("tenure-cli/" + e.version)}, more...)
	scheme := schemePlain
	if e.security.on() {
		scheme = schemeSecure
		config, err := e.security.config()
		if err != nil {
			return nil, err
		}
		options = append(options, tenure.WithTLS(config))
	}
	if e.tokenFile != "" {
		if _, err := e.token(); err != nil { // The library calls the file by another name.
			return nil, err
		}
		options = append(options, tenure.WithTokenFile(e.tokenFile))
	}
	c, err := tenure.Open(scheme+strings.Join(e.endpoints, ","), options...)
	if err != nil {
		text := err.Error()
		if refused, ok := errors.AsType[*tenure.Error](err); ok {
			text = refused.Message // Its kind is what an error of usage is.
		}
		return nil, usageError("--endpoints: %s", printable(text))
	}
	if err := connect(c); err != nil {
		_ = c.Close() // There is nothing to tell.
		return nil, plainError(err)
	}
	return c, nil
}

// withClient runs one short piece of work with a client that stays with the members that the flags name, within --timeout.
func (e *environment) withClient(ctx context.Context, work func(ctx context.Context, c *tenure.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	c, err := e.patientClient(ctx, tenure.WithFixedMembers())
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // It has no session, so there is nothing to tell.
	return saidBy(c, work(ctx, c))
}

// saidBy returns an error of a client as the rest of this program knows it. If who answered is no member, it says at which address.
func saidBy(c *tenure.Client, err error) error {
	if exit := new(exitError); errors.As(err, &exit) {
		return err
	}
	err = plainError(err)
	if strange(err) {
		_, endpoint := c.Members()
		return &strangerError{endpoint: endpoint, err: err}
	}
	return err
}

// plainError returns an error of the client as the rest of this program knows it.
func plainError(err error) error {
	if unreachable, ok := errors.AsType[*tenure.UnreachableError](err); ok && !errors.Is(err, context.Canceled) {
		return &unreachableError{endpoints: unreachable.Addresses, causes: unreachable.Causes}
	}
	var said interface{ GRPCStatus() *status.Status }
	if errors.As(err, &said) {
		return said.GRPCStatus().Err()
	}
	return err
}

// connect returns the members that the flags name. Close them.
func (e *environment) connect() (*members, error) {
	security, err := e.security.credentials()
	if err != nil {
		return nil, err
	}
	m, err := newMembers(e.endpoints, security, "tenure-cli/"+e.version)
	if err != nil {
		return nil, err
	}
	token, err := e.token()
	if err != nil {
		return nil, err
	}
	if token != nil {
		m.options = append(m.options, grpc.WithPerRPCCredentials(token))
	}
	return m, nil
}

// withMembers runs one short piece of work with the members, within --timeout.
func (e *environment) withMembers(ctx context.Context, work func(ctx context.Context, m *members) error) error {
	m, err := e.connect()
	if err != nil {
		return err
	}
	defer m.close()
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	return work(ctx, m)
}
