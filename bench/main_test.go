package main

import (
	"bytes"
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// TestMain also plays the echo server, because the program starts itself for that.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == echoCommand {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := serveEcho(ctx, os.Args[2]); err != nil {
			panic(err)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func TestRunMeasuresTheMachineWithoutAMember(t *testing.T) {
	var stdout, stderr bytes.Buffer
	output := t.TempDir() + "/report.json"
	var err error
	// On a machine that is busy with something else no operation may end in a short window.
	for _, window := range []string{"50ms", "1s", "10s"} {
		stdout.Reset()
		err = run(t.Context(), []string{
			"-binary", "unused", "-workloads", "fdatasync,echo", "-clients", "1,4", "-rounds", "2",
			"-duration", window, "-warmup", "10ms", "-dir", t.TempDir(), "-o", output,
		}, &stdout, &stderr)
		if err == nil || !strings.Contains(err.Error(), "raise -duration") {
			break
		}
	}
	if err != nil {
		t.Fatalf("run: %v\n%s", err, stderr.String())
	}
	for _, want := range []string{"fdatasync", "echo"} {
		if got := stdout.String(); !strings.Contains(got, want) {
			t.Errorf("report: got no %q in\n%s", want, got)
		}
	}
	text, err := os.ReadFile(output)
	if err != nil || !strings.Contains(string(text), `"workload": "echo"`) {
		t.Errorf("JSON report: got %.80q, %v; want a cell of echo", text, err)
	}
}

func TestRunRefusesBadFlags(t *testing.T) {
	tests := map[string][]string{
		"a workload that does not exist":  {"-binary", "x", "-workloads", "put,pat"},
		"no clients":                      {"-binary", "x", "-clients", "0"},
		"no program":                      {"-binary", ""},
		"a value above the service's own": {"-binary", "x", "-value-bytes", "524289"},
		"an argument that is no flag":     {"-binary", "x", "put"},
	}
	for name, args := range tests {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), args, new(bytes.Buffer), new(bytes.Buffer)); err == nil {
				t.Error("got no error")
			}
		})
	}
}

func TestRunShowsWhatAFailingMemberPrinted(t *testing.T) {
	err := run(t.Context(), []string{
		"-binary", "/bin/ls", "-workloads", "put", "-clients", "1", "-dir", t.TempDir(),
	}, new(bytes.Buffer), new(bytes.Buffer))
	if err == nil || !strings.Contains(err.Error(), "ls did not start") || !strings.Contains(err.Error(), "data-dir") {
		t.Errorf("got %v, want the program's own complaint about its flags", err)
	}
}
