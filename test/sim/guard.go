package sim

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/access"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/reason"
	renewal "github.com/tenure-io/tenure/server/renewal/core"
	"github.com/tenure-io/tenure/storage"
)

const (
	// wallBeginMs is what wall clocks show when a run begins, in milliseconds since the Unix epoch.
	wallBeginMs = 1_700_000_000_000
	// streamEndsWithin is how long a stream may go on at a member that knows that it is not allowed any more: until the member looks, with
	// a look before that still waits for its proof, and the proof itself.
	streamEndsWithin = access.ReviewEvery + 2*access.ProofTimeout + 250*time.Millisecond
	// expiredEndsWithin is the same after the end of the token.
	expiredEndsWithin = 5*time.Second + streamEndsWithin
)

// guarding decides about calls where the plan has tokens, with the product's own authority. Elsewhere there is none.
type guarding struct{ *life }

// guarded is a member as its authority sees it.
type guarded struct{ r *life }

var _ access.Node = guarded{}

// Store returns the state in use.
func (g guarded) Store() *storage.Store { return g.r.store }

// ReadIndex returns once everything that was committed when it was called is applied here.
func (g guarded) ReadIndex(ctx context.Context) error {
	limit := time.Duration(0)
	if _, ok := ctx.Deadline(); ok { // It is one of real time; the authority sets no other.
		limit = access.ProofTimeout
	}
	return g.proof(ctx, limit)
}

// proof is ReadIndex, for at most so long; zero: without an end.
func (g guarded) proof(ctx context.Context, limit time.Duration) error {
	return await(ctx, func(bring func(error)) {
		g.r.read(false, func(_ uint64, err error) { bring(err) })
		if limit > 0 {
			g.r.after(limit, func() { bring(context.DeadlineExceeded) })
		}
	})
}

// build makes the authority of a life.
func (r guarding) build() (err error) {
	if !r.w.plan.Tokens {
		return nil
	}
	r.connected = connections{}
	r.authority, err = access.New(access.Options{
		Node: guarded{r.life}, Registerer: prometheus.NewRegistry(), StaleMax: ms(r.w.plan.StaleMaxMs), Clock: r.m.moment,
		Now: func() time.Time { return time.UnixMilli(wallBeginMs).Add(r.m.clock() - r.m.offset) },
	})
	return err
}

// run looks at the open streams, again and again.
func (r guarding) run() {
	if r.authority != nil {
		r.reviewLater(r.authority.Reviews())
	}
}

func (r guarding) reviewLater(reviews *access.Reviews) {
	r.after(access.ReviewEvery, func() {
		r.task(func(ctx context.Context) {
			reviews.Next(ctx)
			for _, o := range append([]*opened(nil), r.opens...) {
				if o.ended != nil && !o.closed {
					r.w.floors.StreamsRevoked++
					o.close()
					o.over(o.ended)
				}
			}
			r.reviewLater(reviews)
		})
	})
}

// connections have what is kept of the callers on them: each caller has one to each member.
type connections map[identity.Caller]*identity.Client

// client returns what the connection of a caller keeps of it.
func (r guarding) client(caller identity.Caller) *identity.Client {
	c := r.connected[caller]
	if c == nil {
		c = &identity.Client{Caller: caller}
		r.connected[caller] = c
	}
	return c
}

// pass lets a call pass, as the product's gate does: what follows runs under what was decided. Where nothing is guarded it runs at once.
func (r guarding) pass(k *call, answer func(reply), do func(ctx context.Context)) {
	if r.authority == nil {
		do(context.Background())
		return
	}
	r.task(func(ctx context.Context) {
		if r.authority.Asks(k.ask.method) {
			granted, err := r.authority.Call(ctx, r.client(k.caller), k.ask.method, k.ask.request)
			if err != nil {
				answer(reply{err: err})
				return
			}
			ctx = granted
		}
		do(ctx)
	})
}

// change has a change ordered under the rights of its caller.
func (r guarding) change(k *call, cmd *storev1.Command, answer func(reply)) {
	r.pass(k, answer, func(ctx context.Context) {
		if r.authority == nil {
			r.relay.order(cmd, answer)
			return
		}
		result, err := access.Ordered(ctx, guarded{r.life}.Store, func(principal string, below uint64) (*storev1.Result, error) {
			own := proto.CloneOf(cmd)
			// The checker asks whose each command is, so here all say so, also those of which nothing keeps it.
			own.Principal, own.AuthorisedBelow, own.Findings = principal, below, access.Findings(ctx)
			rep := await(ctx, func(bring func(reply)) { r.relay.order(own, bring) })
			if storage.IsOutdated(rep.result) {
				r.w.floors.ChangesDecidedAgain++
			}
			return rep.result, rep.err
		})
		if f := result.GetFailure(); err == nil && storage.IsOutdated(result) {
			result, err = nil, reason.OfFailure(f, false)
		}
		answer(reply{result: result, err: err})
	})
}

// shows reports whether a call may see a snapshot, and why not.
func (r guarding) shows(ctx context.Context, k *call, s *storage.Reader, stale bool) error {
	if r.authority == nil {
		return nil
	}
	at, err := s.Applied()
	if err == nil {
		err = access.Of(ctx).At(s, at)
	}
	if err == nil {
		r.w.truth.tokens.shown(k.caller, k.ask, at.Index, stale)
	}
	return err
}

// opened is a stream that is open at a member while rights may change.
type opened struct {
	r      *life
	stream *access.Stream
	caller identity.Caller
	must   []right // without which it must end
	ended  error   // why it has to end
	over   func(error)
	closed bool
	asks   bool // its first message is not decided about yet: nothing is shown, and nothing has to end
	lacks  bool // one of the rights
	spell  int  // counts the times that it lacked one, and had all again
}

// open opens a stream, which runs under the context that it returns.
func (r guarding) open(ctx context.Context, caller identity.Caller, method string, must []right) (*opened, context.Context) {
	o := &opened{r: r.life, caller: caller, must: must, over: func(error) {}}
	ctx, o.stream = r.authority.Open(ctx, func() *identity.Client { return r.client(caller) }, method, func(err error) { o.ended = err })
	r.opens = append(r.opens, o)
	if end := r.w.truth.tokens.ends(caller); end > 0 {
		o.r.after(end-r.w.now+r.w.truth.tokens.skew(), o.mustEndWithToken)
	}
	return o, ctx
}

// close ends a stream, for whatever reason.
func (o *opened) close() {
	if !o.closed {
		o.closed = true
		o.stream.Close()
		o.r.opens = without(o.r.opens, o)
	}
}

// rightsChanged looks which streams must end, since the member has applied a change of rights.
func (r guarding) rightsChanged() {
	now := r.store.Applied()
	if r.authority == nil || now.AuthChanges == r.authChanges {
		return
	}
	r.authChanges = now.AuthChanges
	for _, o := range r.opens {
		if o.asks {
			continue
		}
		lacks := !r.w.truth.tokens.asOf(now.Index).allows(o.caller, o.must)
		if lacks == o.lacks {
			continue
		}
		o.lacks = lacks
		o.spell++
		if spell := o.spell; lacks {
			o.mustEnd(streamEndsWithin, func() bool { return o.spell == spell })
		}
	}
}

// mustEndWithToken demands that a stream ends after its token has, as soon as its member knows that rules are enforced: in mode warn it goes on.
func (o *opened) mustEndWithToken() {
	enforced := func() bool { return o.r.w.truth.tokens.asOf(o.r.store.Applied().Index).enforced }
	switch {
	case o.closed:
	case !enforced():
		o.r.after(lookStep, o.mustEndWithToken)
	default:
		o.mustEnd(expiredEndsWithin, func() bool {
			if !enforced() {
				o.r.after(lookStep, o.mustEndWithToken)
				return false
			}
			return true
		})
	}
}

// lookStep is how often it is looked whether a stream that must end has ended.
const lookStep = 50 * time.Millisecond

// mustEnd demands that a stream has ended when its member has run for some time, if it still has to.
func (o *opened) mustEnd(within time.Duration, still func() bool) {
	switch {
	case o.closed || !still():
	case within <= 0:
		o.r.w.violated("tokens", "a stream of a caller without the rights goes on at member %d", o.r.m.id)
	default:
		o.r.after(lookStep, func() { o.mustEnd(within-lookStep, still) })
	}
}

// watch lets a watch pass, and calls begin under what was decided.
func (r guarding) watch(caller identity.Caller, a *ask, refused func(), begin func(*opened)) {
	from := r.w.now
	r.task(func(ctx context.Context) {
		o, ctx := r.open(ctx, caller, a.method, a.must)
		o.asks = true
		err := o.stream.Message(ctx, a.request)
		o.asks = false
		if err == nil && o.closed {
			err = o.ended
		}
		if err != nil {
			o.close()
			r.w.truth.tokens.refused(caller, a, from, err)
			refused()
			return
		}
		if r.authority.Asks(a.method) {
			r.w.truth.tokens.shown(caller, a, r.store.Applied().Index, true)
		}
		begin(o)
	})
}

// renewOnce renews a session by a single call.
func (r guarding) renewOnce(k *call, asked renewal.Asked, answer func(reply), keep func() *keeper) {
	r.pass(k, answer, func(ctx context.Context) {
		if r.authority == nil {
			one := keep()
			one.came([]renewal.Asked{asked})
			one.step(renewal.Ended{})
			return
		}
		_, below, err := access.Authorised(ctx, r.store.Rights.Now())
		if err != nil {
			answer(reply{err: err})
			return
		}
		asked.AuthorisedBelow = below
		one := keep()
		one.authorise = func(now context.Context, asked []renewal.Asked) (err error) {
			granted := within(ctx, now)
			if err = (guarded{r.life}).ReadIndex(granted); err != nil {
				return err
			}
			if grant := access.Of(granted); grant != nil {
				if err = grant.Again(granted); err != nil {
					return err
				}
			}
			_, asked[0].AuthorisedBelow, err = access.Authorised(granted, r.store.Rights.Now())
			return err
		}
		one.came([]renewal.Asked{asked})
		one.step(renewal.Ended{})
	})
}

// guardStream lets a stream of renewals pass; its renewals are decided about one by one.
func (r guarding) guardStream(k *call, stream *keepAlive) {
	stream.caller = k.caller
	stream.guard, stream.granted = r.open(context.Background(), k.caller, tenurev1.SessionService_KeepAlive_FullMethodName, []right{{verb: mayExist}})
	stream.guard.over, stream.guard.asks = stream.close, true
	stream.authorise = func(now context.Context, asked []renewal.Asked) error {
		again := &tenurev1.KeepAliveRequest{}
		for i := range asked {
			again.Renewals = append(again.Renewals, &tenurev1.SessionRenewal{SessionId: asked[i].ID.String()})
		}
		granted, err := access.Again(within(stream.granted, now), again)
		if err != nil {
			return err
		}
		return r.decided(granted, asked)
	}
}

// renewOn decides about a renewal that came on a stream, and hands it on.
func (r guarding) renewOn(stream *keepAlive, asked renewal.Asked, answer func(reply)) {
	r.task(func(ctx context.Context) {
		ctx = within(stream.granted, ctx)
		all := []renewal.Asked{asked}
		err := stream.guard.stream.Message(ctx, &tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{{
			SessionId: asked.ID.String(), Number: asked.Number, Epoch: asked.Epoch,
		}}})
		stream.guard.asks = false
		if err == nil {
			err = r.decided(ctx, all)
		}
		switch {
		case stream.closed:
			answer(reply{err: errDown})
		case err != nil:
			stream.close(err)
			answer(reply{err: err})
		default:
			if all[0].Denied {
				r.w.floors.RenewalsDenied++
			}
			stream.waiting[asked.Number] = answer
			stream.came(all)
		}
	})
}

// decided notes what was decided about renewals.
func (r guarding) decided(ctx context.Context, asked []renewal.Asked) error {
	_, below, err := access.Authorised(ctx, r.store.Rights.Now())
	for i := range asked {
		asked[i].Denied, asked[i].AuthorisedBelow = access.Of(ctx).Denies(asked[i].ID.String()), below
	}
	return err
}

// decideAgain decides again about renewals of a stream, since rights were taken away.
func (k *keeper) decideAgain(asked []renewal.Asked) {
	if k.authorise == nil {
		k.r.w.violated("renewal", "a renewal is refused because rights were taken away, and none were")
		return
	}
	k.r.w.floors.RenewalsDecidedAgain++
	k.r.task(func(ctx context.Context) {
		err := guarded{k.r}.proof(ctx, proofTimeout)
		if err == nil {
			err = k.authorise(ctx, asked)
		}
		switch {
		case k.closed:
		case err != nil:
			k.close(err)
		default:
			k.follow(k.step(renewal.Authorised{}))
		}
	})
}
