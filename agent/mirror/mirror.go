package mirror

import (
	"context"
	"fmt"
	"time"

	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/message"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// pagesMax bounds how many pages a node has.
const pagesMax = 1_000

// Prober looks at what a check is about. The second result is false if there is no result.
type Prober interface {
	Probe(ctx context.Context, kind check.Kind, timeout time.Duration) (check.Result, bool)
}

// Mirror is a Prober for checks of kind alias, and passes all others on.
type Mirror struct {
	// Client asks the catalog.
	Client tenurev1.CatalogServiceClient
	// Others looks at checks of other kinds.
	Others Prober
}

// Probe looks once, for at most timeout.
func (m *Mirror) Probe(ctx context.Context, kind check.Kind, timeout time.Duration) (check.Result, bool) {
	alias, is := kind.(check.Alias)
	if !is {
		return m.Others.Probe(ctx, kind, timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return m.ask(ctx, alias)
}

// ask finds the worst check of a node, or of a service and its node. Aliases do not see each other, so two of them cannot
// keep each other critical.
func (m *Mirror) ask(ctx context.Context, alias check.Alias) (check.Result, bool) {
	worst := check.Result{Status: check.Passing, Output: "all checks pass"}
	registered := alias.Service == ""
	request := &tenurev1.GetNodeRequest{Node: alias.Node}
	for range pagesMax {
		page, err := m.Client.GetNode(ctx, request)
		if missing(err) {
			return critical("node %q is not registered", alias.Node), true
		}
		if err != nil {
			return check.Result{}, false
		}
		for _, s := range page.GetServices() {
			registered = registered || s.GetServiceId() == alias.Service
		}
		for _, c := range page.GetChecks() {
			if counts(c, alias) {
				if s, _ := message.ToStatus(c.GetStatus()); s > worst.Status {
					worst = check.Result{Status: s, Output: fmt.Sprintf("check %q of node %q is %s", c.GetCheckId(), alias.Node, s)}
				}
			}
		}
		if request.PageToken = page.GetNextPageToken(); request.GetPageToken() == "" {
			break
		}
	}
	if !registered {
		return critical("service %q is not registered on node %q", alias.Service, alias.Node), true
	}
	return worst, true
}

// counts reports whether a check says how the other fares.
func counts(c *tenurev1.Check, alias check.Alias) bool {
	return c.GetKind() != alias.Name() && (c.GetServiceId() == "" || c.GetServiceId() == alias.Service)
}

func critical(format string, args ...any) check.Result {
	return check.Result{Status: check.Critical, Output: fmt.Sprintf(format, args...)}
}

// missing reports whether the catalog has no such node.
func missing(err error) bool {
	return errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND
}
