package seed_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/test/rig"
)

// Programs under test; TestMain sets them before any test runs.
var (
	binary  string
	grpcurl string
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "tenure-seed-")
	if err == nil {
		binary, err = rig.Binary(context.Background(), dir)
	}
	if err == nil {
		grpcurl, err = findGRPCurl()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// findGRPCurl returns the path of the grpcurl that the tools module pins; the go command builds it, and keeps it in its cache.
func findGRPCurl() (string, error) {
	find := exec.Command("go", "tool", "-n", "grpcurl")
	find.Dir = filepath.Join("..", "..", "tools")
	var said bytes.Buffer
	find.Stderr = &said
	path, err := find.Output()
	if err != nil {
		return "", fmt.Errorf("build grpcurl: %w\n%s", err, &said)
	}
	return strings.TrimSpace(string(path)), nil
}
