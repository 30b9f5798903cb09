package main

import (
	"context"
	"os"
	"os/exec"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptDisk mounts a small disk until the script ends.
func scriptDisk(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: disk DIR SIZE")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.Mkdir(dir, 0o700))
	ts.Check(mount(dir, args[1]))
	ts.Defer(func() {
		// Lazily, as what a script that failed has left may still have files open.
		if err := exec.CommandContext(context.Background(), "umount", "--lazy", dir).Run(); err != nil {
			ts.Logf("unmount %s: %v", dir, err)
		}
	})
}

// mount mounts a disk in memory.
func mount(dir, size string) error {
	return exec.CommandContext(context.Background(), "mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir).Run()
}

// canMount reports whether this user may mount disks.
func canMount() bool {
	dir, err := os.MkdirTemp("", "tenure-mount-")
	if err != nil {
		return false
	}
	defer func() { _ = os.Remove(dir) }()
	if mount(dir, "64k") != nil {
		return false
	}
	return exec.CommandContext(context.Background(), "umount", dir).Run() == nil
}
