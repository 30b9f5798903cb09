package cli

import (
	"errors"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	// sessionIDType is what help shows for the value of a flag that takes the id of a session.
	sessionIDType = "id"
	// sessionIDWanted says what such a value must be.
	sessionIDWanted = "it must be the id of a session, as `tenure session create` prints it"
)

// errNotSessionID says that a text is not the id of a session; valueWanted says the rest.
var errNotSessionID = errors.New("not the id of a session")

// sessionIDValue is the value of a flag that takes the id of a session. Nothing is not an id: an empty variable of a shell must
// not make the flag one that was not given.
type sessionIDValue struct{ id *string }

// String returns the id, or nothing.
func (v sessionIDValue) String() string {
	if v.id == nil {
		return ""
	}
	return *v.id
}

// Set takes an id.
func (v sessionIDValue) Set(text string) error {
	if !isSessionID(text) {
		return errNotSessionID
	}
	*v.id = text
	return nil
}

// Type names the kind of value for help and messages.
func (v sessionIDValue) Type() string { return sessionIDType }

// SessionIDFlag declares a flag that takes the id of a session.
func SessionIDFlag(flags *pflag.FlagSet, id *string, name, usage string) {
	flags.Var(sessionIDValue{id}, name, usage)
}

// SessionIDArgument demands one argument, the id of a session.
func SessionIDArgument(cmd *cobra.Command, args []string) error {
	if err := cobra.ExactArgs(1)(cmd, args); err != nil {
		return err
	}
	if !isSessionID(args[0]) {
		return UsageError("ID is %s; %s", Quoted(args[0]), sessionIDWanted)
	}
	return nil
}

// isSessionID reports whether a member could have given a session this id.
func isSessionID(text string) bool {
	_, err := uuid.Parse(text)
	return err == nil && len(text) == len(uuid.Nil.String())
}
