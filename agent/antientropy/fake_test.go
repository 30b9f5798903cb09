package antientropy_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

const (
	ofAgent = tenurev1.CatalogOrigin_CATALOG_ORIGIN_AGENT
	direct  = tenurev1.CatalogOrigin_CATALOG_ORIGIN_DIRECT
	pool    = tenurev1.CatalogOrigin_CATALOG_ORIGIN_POOL
)

// catalog is one node's part of a catalog, in memory, with the rules of SyncNode.
type catalog struct {
	tenurev1.CatalogServiceClient // Every other method panics.

	mu       sync.Mutex
	begin    time.Time
	node     *tenurev1.Node
	services map[string]*tenurev1.Service
	checks   map[string]*tenurev1.Check
	last     tenurev1.SyncNumber
	revision uint64
	// calls are what was asked, with the time.
	calls []string
	// fail decides about a call: an error, and whether the change is made all the same.
	fail func(method string) (err error, applied bool)
	// silent means that nobody answers a read.
	silent bool
	// refuse are ids that are refused.
	refuse map[string]bool
	// full means that nothing is taken that makes the catalog grow.
	full bool
	// entriesMax is how many entries a call may have before it is too large; 0: any number.
	entriesMax int
	// deny are ids of services that the agent's token may not write; denyNode denies all. denials counts the calls that were denied.
	deny     map[string]bool
	denyNode bool
	denials  int
	largest  int
	pageSize int
}

func newCatalog() *catalog {
	return &catalog{
		begin: time.Now(), services: map[string]*tenurev1.Service{}, checks: map[string]*tenurev1.Check{}, refuse: map[string]bool{}, deny: map[string]bool{},
		fail: func(string) (error, bool) { return nil, true }, pageSize: 3,
	}
}

func failure(code codes.Code, reason string, metadata map[string]string) error {
	s, err := status.New(code, reason).WithDetails(&errdetails.ErrorInfo{Reason: reason, Domain: "tenure", Metadata: metadata})
	if err != nil {
		panic(err)
	}
	return s.Err()
}

func (c *catalog) note(format string, args ...any) {
	c.calls = append(c.calls, fmt.Sprintf("%s: ", time.Since(c.begin))+fmt.Sprintf(format, args...))
}

// taken returns what was asked since the last time.
func (c *catalog) taken() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls
	c.calls = nil
	return calls
}

// denied returns how many calls were denied since the last time.
func (c *catalog) denied() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.denials
	c.denials = 0
	return n
}

func (c *catalog) GetNode(ctx context.Context, r *tenurev1.GetNodeRequest, _ ...grpc.CallOption) (*tenurev1.GetNodeResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silent {
		c.mu.Unlock()
		<-ctx.Done()
		c.mu.Lock()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if r.GetPageToken() == "" {
		c.note("read")
	}
	if err, _ := c.fail("GetNode"); err != nil {
		return nil, err
	}
	if c.node == nil {
		return nil, failure(codes.NotFound, "NODE_NOT_FOUND", nil)
	}
	services, checks := slices.Sorted(maps.Keys(c.services)), slices.Sorted(maps.Keys(c.checks))
	at, _ := strconv.Atoi(r.GetPageToken())
	page := &tenurev1.GetNodeResponse{Node: proto.CloneOf(c.node)}
	page.Node.LastSync = proto.CloneOf(&c.last)
	for n := 0; n < c.pageSize && at < len(services)+len(checks); n++ {
		if at < len(services) {
			page.Services = append(page.Services, proto.CloneOf(c.services[services[at]]))
		} else {
			page.Checks = append(page.Checks, proto.CloneOf(c.checks[checks[at-len(services)]]))
		}
		at++
	}
	if at < len(services)+len(checks) {
		page.NextPageToken = strconv.Itoa(at)
	}
	return page, nil
}

func (c *catalog) SyncNode(_ context.Context, r *tenurev1.SyncNodeRequest, _ ...grpc.CallOption) (*tenurev1.SyncNodeResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err, applied := c.fail("SyncNode")
	if applied {
		if failed := c.sync(proto.CloneOf(r)); failed != nil {
			return nil, failed
		}
	}
	if err != nil {
		return nil, err
	}
	return &tenurev1.SyncNodeResponse{}, nil
}

func (c *catalog) sync(r *tenurev1.SyncNodeRequest) error {
	size := len(r.GetServices()) + len(r.GetChecks()) + len(r.GetDeleteServices()) + len(r.GetDeleteChecks())
	if r.GetNode() != nil {
		size++
	}
	c.largest = max(c.largest, size)
	if at := r.GetSync(); at.GetBoot() < c.last.GetBoot() || (at.GetBoot() == c.last.GetBoot() && at.GetNumber() <= c.last.GetNumber()) {
		c.note("outdated %d/%d", at.GetBoot(), at.GetNumber())
		return failure(codes.FailedPrecondition, "SYNC_OUTDATED", map[string]string{"boot": fmt.Sprint(c.last.GetBoot()), "number": fmt.Sprint(c.last.GetNumber())})
	}
	if needs := c.lacks(r); needs != "" {
		c.denials++
		c.note("denied %s", describe(r))
		return failure(codes.PermissionDenied, "PERMISSION_DENIED", map[string]string{"needs": needs})
	}
	if c.full && c.grows(r) {
		return failure(codes.ResourceExhausted, "QUOTA_EXCEEDED", nil)
	}
	if err := c.refused(r); err != nil {
		return err
	}
	c.note("sync %s", describe(r))
	c.last.Boot, c.last.Number = r.GetSync().GetBoot(), r.GetSync().GetNumber()
	c.revision++
	if n := r.GetNode(); n != nil {
		c.node = n
		n.ModRevision, n.Origin = c.revision, ofAgent
	}
	for _, s := range r.GetServices() {
		s.Node, s.ModRevision, s.Origin = c.node.GetName(), c.revision, ofAgent
		c.services[s.GetServiceId()] = s
	}
	for _, check := range r.GetChecks() {
		check.Node, check.ModRevision, check.Origin = c.node.GetName(), c.revision, ofAgent
		check.ServiceName = c.services[check.GetServiceId()].GetName()
		c.checks[check.GetCheckId()] = check
	}
	for _, id := range r.GetDeleteServices() {
		if c.services[id].GetOrigin() == ofAgent {
			delete(c.services, id)
			maps.DeleteFunc(c.checks, func(_ string, check *tenurev1.Check) bool { return check.GetServiceId() == id })
		}
	}
	for _, id := range r.GetDeleteChecks() {
		if c.checks[id].GetOrigin() == ofAgent {
			delete(c.checks, id)
		}
	}
	return nil
}

// lacks returns the first right that a call lacks, in the order in which members look; empty: none. Of an entry that is not there, no right is
// asked for.
func (c *catalog) lacks(r *tenurev1.SyncNodeRequest) string {
	if c.denyNode {
		return `node "n1" write`
	}
	var services []string
	for _, s := range r.GetServices() {
		services = append(services, s.GetServiceId())
	}
	for _, check := range r.GetChecks() {
		if c.services[check.GetServiceId()] != nil {
			services = append(services, check.GetServiceId())
		}
	}
	for _, id := range r.GetDeleteServices() {
		if c.services[id] != nil {
			services = append(services, id)
		}
	}
	for _, id := range r.GetDeleteChecks() {
		services = append(services, c.checks[id].GetServiceId())
	}
	for _, id := range services {
		if c.deny[id] {
			return fmt.Sprintf("service %q write", id)
		}
	}
	return ""
}

func (c *catalog) refused(r *tenurev1.SyncNodeRequest) error {
	if c.node == nil && r.GetNode() == nil {
		return failure(codes.NotFound, "NODE_NOT_FOUND", nil)
	}
	if proto.Size(r) > 4<<20 { // As gRPC does.
		return status.Error(codes.ResourceExhausted, "the message is too large")
	}
	if c.entriesMax > 0 && len(r.GetServices())+len(r.GetChecks()) > c.entriesMax {
		return failure(codes.ResourceExhausted, "TOO_LARGE", nil)
	}
	for _, s := range r.GetServices() {
		if c.refuse[s.GetServiceId()] {
			return failure(codes.InvalidArgument, "INVALID_ARGUMENT", nil)
		}
	}
	for _, check := range r.GetChecks() {
		if c.refuse[check.GetCheckId()] {
			return failure(codes.ResourceExhausted, "LIMIT_EXCEEDED", nil)
		}
		there := c.services[check.GetServiceId()] != nil || check.GetServiceId() == ""
		for _, s := range r.GetServices() {
			there = there || s.GetServiceId() == check.GetServiceId()
		}
		if !there {
			return failure(codes.NotFound, "SERVICE_NOT_FOUND", nil)
		}
	}
	return nil
}

func describe(r *tenurev1.SyncNodeRequest) string {
	var b strings.Builder
	if r.GetNode() != nil {
		b.WriteString("node ")
	}
	for _, s := range r.GetServices() {
		b.WriteString("+" + s.GetServiceId() + " ")
	}
	for _, c := range r.GetChecks() {
		b.WriteString("+" + c.GetCheckId() + "=" + strings.ToLower(strings.TrimPrefix(c.GetStatus().String(), "CHECK_STATUS_")) + " ")
	}
	for _, id := range slices.Concat(r.GetDeleteServices(), r.GetDeleteChecks()) {
		b.WriteString("-" + id + " ")
	}
	return strings.TrimSpace(b.String())
}

// grows reports whether a sync writes more than the status of checks that are there.
func (c *catalog) grows(r *tenurev1.SyncNodeRequest) bool {
	return r.GetNode() != nil || len(r.GetServices()) > 0 ||
		slices.ContainsFunc(r.GetChecks(), func(k *tenurev1.Check) bool { return c.checks[k.GetCheckId()] == nil })
}

// lose deletes the node with all that it has, as when a person deregisters it.
func (c *catalog) lose() {
	c.node = nil
	c.last.Reset()
	clear(c.services)
	clear(c.checks)
}
