package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	tenure "github.com/tenure-io/tenure/clients/go"
)

// Client returns a client of the members that the flags name, connected to one of them. Close it.
func (e *Environment) Client(ctx context.Context, more ...tenure.Option) (*tenure.Client, error) {
	return e.Connected(more, func(c *tenure.Client) error { return c.Connect(ctx) })
}

// PatientClient is client, but tries again until ctx ends when members do not answer in time. Where nobody listens, or who
// listens is no member, it fails at once.
func (e *Environment) PatientClient(ctx context.Context, more ...tenure.Option) (*tenure.Client, error) {
	return e.Connected(more, func(c *tenure.Client) error {
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

// Connected returns a client of the members that the flags name, once connect has connected it.
func (e *Environment) Connected(more []tenure.Option, connect func(*tenure.Client) error) (*tenure.Client, error) {
	if err := checkEndpoints(e.Endpoints); err != nil {
		return nil, err
	}
	options := append([]tenure.Option{tenure.WithUserAgent("tenure-cli/" + e.Version)}, more...)
	scheme := schemePlain
	if e.Security.on() {
		scheme = schemeSecure
		config, err := e.Security.config()
		if err != nil {
			return nil, err
		}
		options = append(options, tenure.WithTLS(config))
	}
	if e.TokenFile != "" {
		if _, err := e.Token(); err != nil { // The library calls the file by another name.
			return nil, err
		}
		options = append(options, tenure.WithTokenFile(e.TokenFile))
	}
	c, err := tenure.Open(scheme+strings.Join(e.Endpoints, ","), options...)
	if err != nil {
		text := err.Error()
		if refused, ok := errors.AsType[*tenure.Error](err); ok {
			text = refused.Message // Its kind is what an error of usage is.
		}
		return nil, UsageError("--endpoints: %s", Printable(text))
	}
	if err := connect(c); err != nil {
		_ = c.Close() // There is nothing to tell.
		return nil, PlainError(err)
	}
	return c, nil
}

// WithClient runs one short piece of work with a client that stays with the members that the flags name, within --timeout.
func (e *Environment) WithClient(ctx context.Context, work func(ctx context.Context, c *tenure.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	c, err := e.PatientClient(ctx, tenure.WithFixedMembers())
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // It has no session, so there is nothing to tell.
	return SaidBy(c, work(ctx, c))
}

// SaidBy returns an error of a client as the rest of this program knows it. If who answered is no member, it says at which address.
func SaidBy(c *tenure.Client, err error) error {
	if exit := new(ExitError); errors.As(err, &exit) {
		return err
	}
	err = PlainError(err)
	if strange(err) {
		_, endpoint := c.Members()
		return &StrangerError{Endpoint: endpoint, Err: err}
	}
	return err
}

// PlainError returns an error of the client as the rest of this program knows it.
func PlainError(err error) error {
	if unreachable, ok := errors.AsType[*tenure.UnreachableError](err); ok && !errors.Is(err, context.Canceled) {
		return &UnreachableError{endpoints: unreachable.Addresses, causes: unreachable.Causes}
	}
	var said interface{ GRPCStatus() *status.Status }
	if errors.As(err, &said) {
		return said.GRPCStatus().Err()
	}
	return err
}

// Connect returns the members that the flags name. Close them.
func (e *Environment) Connect() (*Members, error) {
	m, err := e.connect()
	if err != nil {
		return nil, err
	}
	token, err := e.Token()
	if err != nil {
		return nil, err
	}
	if token != nil {
		m.options = append(m.options, grpc.WithPerRPCCredentials(token))
	}
	return m, nil
}

// connect is Connect without a token.
func (e *Environment) connect() (*Members, error) {
	security, err := e.Security.credentials()
	if err != nil {
		return nil, err
	}
	return NewMembers(e.Endpoints, security, "tenure-cli/"+e.Version)
}

// CheckConnect reads what Connect needs besides a token, and asks no member.
func (e *Environment) CheckConnect() error {
	m, err := e.connect()
	if err == nil {
		m.Close()
	}
	return err
}

// WithMembers runs one short piece of work with the members, within --timeout.
func (e *Environment) WithMembers(ctx context.Context, work func(ctx context.Context, m *Members) error) error {
	m, err := e.Connect()
	if err != nil {
		return err
	}
	defer m.Close()
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	return work(ctx, m)
}
