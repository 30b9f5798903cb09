package agent

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/reason"
)

const (
	// answerWait is for how long an agent asks where it may go by what a member said before.
	answerWait = time.Second
	// warnMax is for how long it counts that a member said that no rule is enforced. After that, rules may be enforced. Mode off counts without an end, as no member looks at tokens then.
	warnMax = 10 * time.Second
	// reportsMax is how many decisions about reports are remembered. At it, one is forgotten for each new one.
	reportsMax = 4096
)

// decider has a member decide about what clients of Consul ask of the agent: with the token that they show. Those without one act as the agent,
// about whose own entries members decide when it writes them. What a member says it has proved to be current.
type decider struct {
	auth    tenurev1.AuthServiceClient
	cluster tenurev1.ClusterServiceClient
	clock   func() time.Time

	mu   sync.Mutex        // guards what follows
	mode tenurev1.AuthMode // what a member said last; warn where it did not say which of those that enforce nothing
	said time.Time         // before it was asked
	// reports are those that were allowed when a member was last asked.
	reports map[[sha256.Size]byte]struct{}
}

// newDecider returns a decider that asks over a connection.
func newDecider(conn grpc.ClientConnInterface) *decider {
	return &decider{
		auth: tenurev1.NewAuthServiceClient(conn), cluster: tenurev1.NewClusterServiceClient(conn), clock: time.Now,
		reports: map[[sha256.Size]byte]struct{}{},
	}
}

// decide makes a call if its client may make it.
func (d *decider) decide(ctx context.Context, of authz.Local, serve func() error) error {
	shown, _ := metadata.FromOutgoingContext(ctx)
	tokens := shown[identity.Metadata]
	if len(tokens) == 0 {
		return serve()
	}
	decide := d.refusal
	if of.Stale {
		decide = func(ctx context.Context, of authz.Local) error { return d.report(ctx, tokens, of) }
	}
	if err := decide(ctx, of); err != nil {
		return err
	}
	return serve()
}

// rule is what a client needs.
type rule struct {
	text string // of a rule that meets it
	need authz.Need
}

// rulesOf returns what a client needs, each once.
func rulesOf(ctx context.Context, of authz.Local) ([]rule, error) {
	var rules []rule
	for _, need := range of.Needs {
		text, err := ruleOf(ctx, of, need)
		if err != nil {
			return nil, err
		}
		if text != "" && !slices.ContainsFunc(rules, func(r rule) bool { return r.text == text }) {
			rules = append(rules, rule{text, need})
		}
	}
	return rules, nil
}

// reportOf returns what a decision about a report is remembered by: the token that was shown, and what it takes.
func reportOf(tokens []string, rules []rule) [sha256.Size]byte {
	all := sha256.New()
	for _, token := range tokens {
		_, _ = fmt.Fprintf(all, "%q", token) // It never fails.
	}
	for _, r := range rules {
		_, _ = fmt.Fprintf(all, " %q", r.text)
	}
	return [sha256.Size]byte(all.Sum(nil))
}

// report returns why a client may not report; nil: it may. If it could not report while there is no leader, a healthy program would be taken for
// dead. So what was last allowed stays allowed then, as it does inside a member.
func (d *decider) report(ctx context.Context, tokens []string, of authz.Local) error {
	rules, err := rulesOf(ctx, of)
	if err != nil {
		return err
	}
	key := reportOf(tokens, rules)
	d.mu.Lock()
	_, allowed := d.reports[key]
	d.mu.Unlock()
	asking := ctx
	if allowed {
		var cancel context.CancelFunc
		asking, cancel = context.WithTimeout(ctx, answerWait)
		defer cancel()
	}
	err = d.refusal(asking, of)
	if allowed && silent(err) && ctx.Err() == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil:
		d.remember(key)
	case denies(err): // Other errors decide nothing, such as that the client hung up.
		delete(d.reports, key)
	}
	return err
}

// remember takes in a report that was allowed, in the place of any other if there are too many. It needs mu.
func (d *decider) remember(key [sha256.Size]byte) {
	if _, known := d.reports[key]; !known && len(d.reports) >= reportsMax {
		for other := range d.reports {
			delete(d.reports, other)
			break
		}
	}
	d.reports[key] = struct{}{}
}

// enforces reports whether rules are enforced. While no member answers, the last answer counts if it was that no rule is enforced: in mode off without
// an end, in mode warn for warnMax. In all other cases it returns the error, and the call is refused.
func (d *decider) enforces(ctx context.Context) (bool, error) {
	began := d.clock()
	d.mu.Lock()
	lax := d.mode == tenurev1.AuthMode_AUTH_MODE_OFF || d.mode == tenurev1.AuthMode_AUTH_MODE_WARN && began.Sub(d.said) < warnMax
	d.mu.Unlock()
	asking := ctx
	if lax {
		var cancel context.CancelFunc
		asking, cancel = context.WithTimeout(ctx, answerWait)
		defer cancel()
	}
	mode, err := d.asked(asking)
	switch {
	case err == nil:
		d.mu.Lock()
		defer d.mu.Unlock()
		d.mode, d.said = mode, began
		return mode == tenurev1.AuthMode_AUTH_MODE_ENFORCE, nil
	case lax && ctx.Err() == nil && silent(err):
		return false, nil
	default:
		return false, err
	}
}

// asked asks a member for the mode; of those that enforce nothing it may not learn which it is.
func (d *decider) asked(ctx context.Context) (tenurev1.AuthMode, error) {
	who, err := d.auth.WhoAmI(ctx, &tenurev1.WhoAmIRequest{})
	if err == nil {
		return who.GetMode(), nil
	}
	if !denies(err) {
		return 0, err
	}
	// The mode is not said to a client without any right, or with a token that is none. It is served what takes a right unless rules are enforced.
	switch _, err = d.cluster.ListMembers(ctx, &tenurev1.ListMembersRequest{}); {
	case err == nil:
		return tenurev1.AuthMode_AUTH_MODE_WARN, nil
	case denies(err):
		return tenurev1.AuthMode_AUTH_MODE_ENFORCE, nil
	default:
		return 0, err
	}
}

// refusal returns why a client may not make a call; nil: it may. Programs report often, so where rules were enforced the mode is asked for only if the
// client lacks a right: who has all may do it in every mode.
func (d *decider) refusal(ctx context.Context, of authz.Local) error {
	d.mu.Lock()
	strict := d.mode == tenurev1.AuthMode_AUTH_MODE_ENFORCE
	d.mu.Unlock()
	var lacks error
	if strict {
		if lacks = d.lacks(ctx, of); lacks == nil || !denies(lacks) {
			return lacks
		}
	}
	switch enforced, err := d.enforces(ctx); {
	case strict && (err != nil || enforced):
		return lacks // Without an answer about the mode, too: what a member refused is not allowed by what was before.
	case err != nil, !enforced:
		return err
	default:
		return d.lacks(ctx, of)
	}
}

// lacks returns which right a client lacks; nil: none.
func (d *decider) lacks(ctx context.Context, of authz.Local) error {
	rules, err := rulesOf(ctx, of)
	if err != nil {
		return err
	}
	answers := make([]error, len(rules)) // Each waits for a proof of the member, so that they had better wait for the same.
	var asking sync.WaitGroup
	for i, r := range rules {
		asking.Go(func() { answers[i] = d.lacksOne(ctx, r) })
	}
	asking.Wait()
	for _, err := range answers {
		if err != nil {
			return err
		}
	}
	return nil
}

// lacksOne is lacks for one right.
func (d *decider) lacksOne(ctx context.Context, r rule) error {
	may, err := d.auth.CheckAccess(ctx, &tenurev1.CheckAccessRequest{Rule: r.text})
	if err != nil || may.GetAllowed() {
		return err
	}
	// The client is told the need as it is: with nothing that it did not say itself.
	said, _ := reason.Status(reason.New(tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED,
		"the token does not have the right %s", r.need).With("needs", r.need.String()), "")
	return said.Err()
}

// ruleOf returns the rule that meets a need; empty: there is no such need, as nobody has what it is about.
func ruleOf(ctx context.Context, of authz.Local, need authz.Need) (string, error) {
	if need.By != 0 {
		name := of.Service(need)
		if name == "" && of.Catalog != nil {
			var err error
			if name, err = of.Catalog(ctx, need); err != nil {
				return "", err
			}
		}
		if name == "" {
			return "", nil
		}
		need = need.OfService(name)
	}
	if need.Match == authz.Prefix && need.Text == "" {
		need.Match = authz.All
	}
	return authz.Rule{Kind: need.Kind, Match: need.Match, Text: need.Text, Verbs: need.Verb}.String(), nil
}

// silent reports whether an error says that no member answered.
func silent(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.DeadlineExceeded
}

// denies reports whether an error says that its caller lacks a right, or shows a credential that is none.
func denies(err error) bool {
	code := status.Code(err)
	return code == codes.PermissionDenied || code == codes.Unauthenticated
}
