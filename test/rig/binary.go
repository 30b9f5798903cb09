package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Binary returns the path of the tenure binary: TENURE_BINARY if set, else one built into dir.
func Binary(ctx context.Context, dir string) (string, error) {
	if path := os.Getenv("TENURE_BINARY"); path != "" {
		// Looking at the file lets go test know that its cached results depend on it.
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("find tenure: %w", err)
		}
		return path, nil
	}
	// Tests of other modules may use the rig; the program is built with the dependencies of its own.
	module, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/tenure-io/tenure").Output()
	if err != nil {
		return "", fmt.Errorf("find the module of tenure: %w", err)
	}
	path := filepath.Join(dir, "tenure")
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/tenure")
	build.Dir = strings.TrimSpace(string(module))
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build tenure: %w\n%s", err, out)
	}
	return path, nil
}
