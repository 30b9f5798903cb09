package main

import "syscall"

// dieWithParent has a command terminated when this program dies.
func dieWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGTERM }
