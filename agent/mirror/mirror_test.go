package mirror_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/mirror"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// catalog answers GetNode with pages, or fails.
type catalog struct {
	tenurev1.CatalogServiceClient // Every other method panics.

	pages []*tenurev1.GetNodeResponse
	err   error
}

func (c *catalog) GetNode(_ context.Context, r *tenurev1.GetNodeRequest, _ ...grpc.CallOption) (*tenurev1.GetNodeResponse, error) {
	if c.err != nil {
		return nil, c.err
	}
	at, _ := strconv.Atoi(r.GetPageToken())
	page := &tenurev1.GetNodeResponse{Services: c.pages[at].GetServices(), Checks: c.pages[at].GetChecks()}
	if at+1 < len(c.pages) {
		page.NextPageToken = strconv.Itoa(at + 1)
	}
	return page, nil
}

// others answers for checks of all other kinds.
type others struct{}

func (others) Probe(context.Context, check.Kind, time.Duration) (check.Result, bool) {
	return check.Result{Status: check.Warning, Output: "others"}, true
}

func row(id, service, kind string, s tenurev1.CheckStatus) *tenurev1.Check {
	return &tenurev1.Check{CheckId: id, ServiceId: service, Kind: kind, Status: s}
}

func TestMirror(t *testing.T) {
	const (
		passing  = tenurev1.CheckStatus_CHECK_STATUS_PASSING
		warning  = tenurev1.CheckStatus_CHECK_STATUS_WARNING
		critical = tenurev1.CheckStatus_CHECK_STATUS_CRITICAL
	)
	unknown, err := status.New(codes.NotFound, "unknown").WithDetails(&errdetails.ErrorInfo{Reason: "NODE_NOT_FOUND"})
	if err != nil {
		t.Fatal(err)
	}
	web := []*tenurev1.GetNodeResponse{
		{Services: []*tenurev1.Service{{ServiceId: "web"}, {ServiceId: "db"}}, Checks: []*tenurev1.Check{row("n", "", "ttl", passing)}},
		{Checks: []*tenurev1.Check{row("w", "web", "http", warning), row("d", "db", "tcp", critical), row("a", "web", "alias", critical)}},
	}
	tests := map[string]struct {
		catalog catalog
		kind    check.Kind
		want    check.Status
		output  string
	}{
		"a service is as its worst check, on any page":  {catalog{pages: web}, check.Alias{Node: "n2", Service: "web"}, check.Warning, `check "w" of node "n2" is warning`},
		"another service has its own checks":            {catalog{pages: web}, check.Alias{Node: "n2", Service: "db"}, check.Critical, `check "d" of node "n2" is critical`},
		"a node is as its own checks, and no service's": {catalog{pages: web}, check.Alias{Node: "n2"}, check.Passing, "all checks pass"},
		"a service that is missing is critical":         {catalog{pages: web}, check.Alias{Node: "n2", Service: "x"}, check.Critical, `service "x" is not registered on node "n2"`},
		"a node that is missing is critical":            {catalog{err: unknown.Err()}, check.Alias{Node: "n2"}, check.Critical, `node "n2" is not registered`},
		"a catalog that does not answer says nothing":   {catalog{err: errors.New("down")}, check.Alias{Node: "n2"}, check.Unset, ""},
		"other kinds are for others":                    {catalog{}, check.TCP{Address: "a:1"}, check.Warning, "others"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := &mirror.Mirror{Client: &test.catalog, Others: others{}}
			got, ok := m.Probe(t.Context(), test.kind, time.Minute)
			if ok != (test.want != check.Unset) || got.Status != test.want || got.Output != test.output {
				t.Errorf("got %+v and %t, want %s %q", got, ok, test.want, test.output)
			}
		})
	}
}
