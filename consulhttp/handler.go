package consulhttp

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/consulhttp/ask"
	"github.com/tenure-io/tenure/consulhttp/local"
	"github.com/tenure-io/tenure/consulhttp/reply"
	"github.com/tenure-io/tenure/consulhttp/wake"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/share"
)

// Defaults of Options.
const (
	datacenterDefault    = "dc1"
	sessionTTLMinDefault = 10 * time.Second
	sessionTTLMax        = 24 * time.Hour
	ttlFactorDefault     = 2
)

// How many calls of a kind an agent has under way to the cluster at a time, for all its clients of Consul. A member that makes many long answers at once
// is late with all others.
const (
	agentCallsMax = 128
	agentListsMax = 16
	// agentLongsMax is how many answers of more than a page are written at a time: each is read from a member meanwhile, as slowly as its client reads it.
	agentLongsMax = 256
)

// Kinds of calls to the cluster, of which none waits for those of another.
const (
	// keepingCalls keep a session alive, or end it.
	keepingCalls = iota
	// staleCalls are those of which stale reads consist: they need no leader, or ask whether there is one.
	staleCalls
	// lists have up to a page of things.
	lists
	otherCalls
)

// kindOfCall returns the kind of a call.
func kindOfCall(method string, request any) int {
	switch method {
	case tenurev1.SessionService_RenewSession_FullMethodName, tenurev1.SessionService_DestroySession_FullMethodName:
		return keepingCalls
	case tenurev1.AuthService_WhoAmI_FullMethodName, tenurev1.ClusterService_ListMembers_FullMethodName:
		return staleCalls
	}
	if reads, ok := request.(interface{ GetRead() *tenurev1.ReadOptions }); ok && reads.GetRead().GetStale() {
		return staleCalls
	}
	if strings.HasPrefix(method[strings.LastIndexByte(method, '/')+1:], "List") {
		return lists
	}
	return otherCalls
}

// ErrOptions means that an option has a value that makes no sense.
var ErrOptions = errors.New("bad setting")

// Agent is the agent of a machine.
type Agent = local.Agent

// Options say what is served, and how. Only Conn is required.
type Options struct {
	// Conn leads to the services of tenure.v1.
	Conn grpc.ClientConnInterface
	// Agent is the agent of this machine, if one serves; nil: a member does, which has none.
	Agent Agent
	// Member is the name of the member that serves, if no agent does: then it is the node that answers. Without either, no node is.
	Member string
	// Datacenter is the name of the datacenter; empty is dc1. Requests for another one are refused.
	Datacenter string
	// SessionTTLMin is the shortest TTL that a session may ask for; 0 is 10 s.
	SessionTTLMin time.Duration
	// TTLFactor is how often the TTL that a session asked for fits into the one it gets, 1 to 2; 0 is 2, as in Consul.
	TTLFactor float64
	// BlockedMax is how many requests may wait for a change at a time, half of them from one address; 0 is 32 768.
	BlockedMax int
	// Callers tells clients apart, and which of them get whatever is free instead of a share.
	Callers share.Callers
	// NodeID is the id of this node, a UUID; empty makes one of the member's id.
	NodeID string
	// Version is the version of the program.
	Version string
	// Registerer takes the metrics; nil keeps them to itself.
	Registerer prometheus.Registerer
	// Log gets what fails inside; nil logs nothing.
	Log *zap.Logger
}

// Validate returns what is wrong with the options, each in a line.
func (o Options) Validate() error {
	o = o.withDefaults()
	var problems []error
	if !validDatacenter(o.Datacenter) {
		problems = append(problems, fmt.Errorf("%w: the datacenter %q must be 1 to 63 letters, digits, hyphens or underscores", ErrOptions, o.Datacenter))
	}
	if o.SessionTTLMin < time.Millisecond || o.SessionTTLMin > sessionTTLMax {
		problems = append(problems, fmt.Errorf("%w: the shortest TTL %v must be 1ms to %v", ErrOptions, o.SessionTTLMin, sessionTTLMax))
	}
	if !(o.TTLFactor >= 1 && o.TTLFactor <= 2) {
		problems = append(problems, fmt.Errorf("%w: the TTL factor %v must be 1 to 2", ErrOptions, o.TTLFactor))
	}
	if o.BlockedMax < 2 {
		problems = append(problems, fmt.Errorf("%w: the number of blocked requests %d must be at least 2", ErrOptions, o.BlockedMax))
	}
	if o.NodeID != "" {
		if _, err := uuid.Parse(o.NodeID); err != nil {
			problems = append(problems, fmt.Errorf("%w: the node id %q must be a UUID", ErrOptions, o.NodeID))
		}
	}
	return errors.Join(problems...)
}

// validDatacenter reports whether a text may be the name of a datacenter.
func validDatacenter(name string) bool {
	if name == "" || len(name) > 63 {
		return false
	}
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// withDefaults returns the options with every optional field set.
func (o Options) withDefaults() Options {
	if o.Datacenter == "" {
		o.Datacenter = datacenterDefault
	}
	if o.SessionTTLMin == 0 {
		o.SessionTTLMin = sessionTTLMinDefault
	}
	if o.TTLFactor == 0 {
		o.TTLFactor = ttlFactorDefault
	}
	if o.BlockedMax == 0 {
		o.BlockedMax = blockedMaxDefault
	}
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	return o
}

// request is a request to an endpoint.
type request struct {
	*ask.Request
	// caller is whose share it counts for.
	caller share.Caller
	// ends end the turns in which the answer is written, because it is read meanwhile.
	ends []func()
	// long says that one of them is that of an answer with more than a page.
	long bool
}

// end ends the request, whose answer is written.
func (q *request) end() {
	for _, end := range q.ends {
		end()
	}
}

// handler serves Consul's HTTP: it finds the endpoint of each request.
type handler struct {
	options Options
	routes  []route
	metrics *metrics
}

// New returns the handler.
func New(o Options) (http.Handler, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	if o.Agent != nil {
		o.Conn = wake.NewConn(o.Conn, []int{keepingCalls: agentCallsMax, staleCalls: agentCallsMax, lists: agentListsMax, otherCalls: agentCallsMax}, kindOfCall)
	}
	c, err := newCore(o)
	if err != nil {
		return nil, err
	}
	return &handler{options: o, routes: newRoutes(c), metrics: c.metrics}, nil
}

// ServeHTTP serves one request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	endpoint, a, end := h.answer(w, r)
	defer end()
	status := a.Write(w, r)
	h.metrics.request(endpoint, status, time.Since(began))
}

// statusClientGone is the status of requests whose client does not wait for an answer any more, as over REST.
const statusClientGone = 499

// answer returns the answer to a request, the name of the endpoint for metrics, and what is to be called once the answer is written.
func (h *handler) answer(w http.ResponseWriter, r *http.Request) (endpoint string, a *reply.Answer, end func()) {
	end = func() {}
	path, err := ask.Path(r)
	if err != nil {
		return endpointUnknown, h.failed(err), end
	}
	found, rest := h.find(path)
	if found == nil {
		return endpointUnknown, h.failed(reply.Refusal(http.StatusNotFound, "There is no such path.")), end
	}
	if found.notOffered != "" {
		h.metrics.notOffered.WithLabelValues(found.name()).Inc()
		return found.name(), h.failed(reply.Refusal(http.StatusNotImplemented, "%s", found.notOffered)), end
	}
	serve := found.methods[r.Method]
	if serve == nil {
		return found.name(), h.wrongMethod(r, found), end
	}
	asked, err := ask.New(w, r, rest, h.options.Datacenter)
	if err != nil {
		return found.name(), h.failed(err), end
	}
	q := &request{Request: asked, caller: h.options.Callers.OfText(r.RemoteAddr)}
	ctx := wake.WithCaller(q.WithCredential(r.Context()), q.caller)
	q.Request.Request = r.WithContext(ctx)
	out, err := serve(ctx, q)
	switch {
	case err == nil:
		return found.name(), out, q.end
	case r.Context().Err() != nil && reply.Of(err).Status >= http.StatusInternalServerError:
		// It failed because the client has gone, or has closed its half of the connection: no 500, which is to be tried again.
		return found.name(), h.failed(reply.Refusal(statusClientGone, "The client has closed its connection.")), q.end
	default:
		return found.name(), h.failed(err), q.end
	}
}

// wrongMethod answers a request whose path exists.
func (h *handler) wrongMethod(r *http.Request, found *route) *reply.Answer {
	a := &reply.Answer{Status: http.StatusMethodNotAllowed, Text: "method " + reply.Shown(r.Method) + " not allowed"}
	if r.Method == http.MethodOptions {
		a = &reply.Answer{}
	}
	return a.WithHeader("Allow", found.allow())
}

// failed answers with an error.
func (h *handler) failed(err error) *reply.Answer {
	f := reply.Of(err)
	if f.Status == http.StatusInternalServerError && !f.Known {
		h.options.Log.Error("request failed", zap.Error(err))
	}
	a := &reply.Answer{Status: f.Status, Text: f.Text}
	if f.Closes {
		a = a.WithHeader("Connection", "close")
	}
	return a
}
