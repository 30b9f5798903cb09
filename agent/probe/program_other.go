//go:build !unix

package probe

import (
	"errors"
	"os/exec"
)

// ownGroup refuses: without process groups the children of a program could not be killed with it.
func ownGroup(*exec.Cmd) error { return errors.New("programs cannot be run on this system") }

// killGroup does nothing.
func killGroup(*exec.Cmd) {}
