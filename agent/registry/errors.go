package registry

import (
	"errors"
	"fmt"

	"github.com/tenure-io/tenure/agent/check"
)

// Conditions of calls.
var (
	ErrServiceNotFound = errors.New("service not found at this agent")
	ErrCheckNotFound   = errors.New("check not found at this agent")
	ErrFromFile        = errors.New("registered by a configuration file, which has to be changed instead")
	ErrNotTTL          = errors.New("only a check of kind ttl takes reports")
	ErrNoStatus        = errors.New("a report needs a status")
	ErrTooMany         = errors.New("too many for one agent")
	ErrExecOff         = errors.New("checks of kind exec are not enabled here")
)

// InvalidError says everything that is wrong with a registration.
type InvalidError struct {
	// Of names the service or check.
	Of         string
	Violations []check.Violation
}

// Error names the first violation.
func (e *InvalidError) Error() string {
	text := fmt.Sprintf("%s: %s %s", e.Of, e.Violations[0].Field, e.Violations[0].Problem)
	if n := len(e.Violations) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}
