package gate_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
	"github.com/tenure-io/tenure/server/audit"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/gate"
)

// TestWhatNobodyDecidesAboutIsWrittenDown has an agent in the process of a member that decides about nothing, with more calls that panic than there is
// room for lines.
func TestWhatNobodyDecidesAboutIsWrittenDown(t *testing.T) {
	var lines bytes.Buffer
	log, err := audit.Open(audit.Options{Path: "-", Stdout: &lines, Full: audit.Refuse, Logger: zap.NewNop(), Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.New(gate.Options{Logger: zap.NewNop(), Registerer: prometheus.NewRegistry(), Stopping: t.Context(), Audit: log})
	if err != nil {
		t.Fatal(err)
	}
	call := func(serve func() error) error {
		return g.Local(metadata.AppendToOutgoingContext(t.Context(), gate.MetadataRemoteAddress, "192.0.2.1:5"), authz.Local{
			Method: tenurev1.AgentService_SetMaintenance_FullMethodName,
			Needs:  []authz.Need{{Kind: authz.Node, Verb: authz.Write, Match: authz.Exact, Text: "h1"}},
		}, serve)
	}
	served, failed := 0, errors.New("failed")
	serve := func() error {
		served++
		return nil
	}
	if err = call(serve); err != nil || served != 1 {
		t.Errorf("got %v and %d calls, want 1", err, served)
	}
	if err = call(func() error { return failed }); err != failed { //nolint:errorlint // It is returned as it is.
		t.Errorf("got %v, want the error of the call as it is", err)
	}
	if err = call(func() error { panic("a bug") }); status.Code(err) != codes.Internal || strings.Contains(err.Error(), "a bug") {
		t.Errorf("a panic: got %v, want INTERNAL without its cause", err)
	}
	for err == nil || errorinfo.Reason(err) != tenurev1.ErrorReason_ERROR_REASON_AUDIT_UNAVAILABLE {
		if err = call(serve); served > 1<<20 {
			t.Fatal("calls are made whose lines would be lost")
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	log.Run(ended)
	text := lines.String()
	if n := strings.Count(text, "\n"); n != served+2 {
		t.Errorf("got %d lines of %d calls", n, served+2)
	}
	first, _, _ := strings.Cut(text, "\n")
	for _, part := range []string{`"address":"192.0.2.1:5"`, `"via":"consul"`, `"method":"tenure.v1.AgentService/SetMaintenance"`, `"decision":"allowed"`, `"applied":"yes"`} {
		if !strings.Contains(first, part) || strings.Contains(first, "principal") {
			t.Errorf("got the line %s, want %s in it, and no principal", first, part)
		}
	}
}
