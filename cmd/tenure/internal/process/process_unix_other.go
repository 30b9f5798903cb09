//go:build unix && !linux

package process

import "syscall"

// dieWithParent does nothing where the system has no means for it.
func dieWithParent(*syscall.SysProcAttr) {}

// justStopped cannot tell where the system has no means for it.
func justStopped(int) bool { return false }

// hideName does nothing where the system has no means for it.
func hideName() {}

// allEnded cannot tell where the system has no means for it.
func allEnded(int) bool { return false }
