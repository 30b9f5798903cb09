package seed_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
		grpcurl, err = buildGRPCurl(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// buildGRPCurl builds the grpcurl that the tools module pins.
func buildGRPCurl(dir string) (string, error) {
	path := filepath.Join(dir, "grpcurl")
	build := exec.Command("go", "build", "-o", path, "github.com/fullstorydev/grpcurl/cmd/grpcurl")
	build.Dir = filepath.Join("..", "..", "tools")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build grpcurl: %w\n%s", err, out)
	}
	return path, nil
}
