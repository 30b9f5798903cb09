package conn

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenure-io/tenure/clients/go/internal/backoff"
	"github.com/tenure-io/tenure/clients/go/internal/hosts"
)

// ErrClosed says that the pool was closed.
var ErrClosed = errors.New("closed")

// UnreachableError says that no member could be connected to.
type UnreachableError struct {
	// Addresses are the members: those that were tried first come first.
	Addresses []string
	// Causes are why the last attempt failed, one for each address.
	Causes []error

	distrusted bool // See TLS.
}

// Error names the members, each with the cause.
func (e *UnreachableError) Error() string {
	members := make([]string, len(e.Addresses))
	for i, address := range e.Addresses {
		members[i] = fmt.Sprintf("%s (%v)", address, e.Causes[i])
	}
	return "no member could be reached: " + strings.Join(members, ", ")
}

// Unwrap returns the causes.
func (e *UnreachableError) Unwrap() []error { return e.Causes }

// TLS reports whether certificates, or files of TLS, are the cause at every member, and no member was ever connected to: waiting will not help.
func (e *UnreachableError) TLS() bool { return e.distrusted }

// Times of a pool.
const (
	// dialMin and dialMax bound one attempt to connect to one member.
	dialMin = 250 * time.Millisecond
	dialMax = 3 * time.Second
	// listEvery is how often the list of members is asked for, and listPatience how long that may take.
	listEvery    = 10 * time.Second
	listPatience = 5 * time.Second
)

// Options of a Pool.
type Options struct {
	// Members are the addresses to begin with, host:port each; at least one.
	Members []string
	// Dial connects to one.
	Dial Dial
	// TTL is what most sessions will have: the first attempts to connect are short enough to try all members within a
	// third of it. Nothing is promised to a session with a shorter one.
	TTL time.Duration
	// Fixed tells to try Members in their order, and no others: List is not asked.
	Fixed bool
	// List asks a member for the others; nil never does. An error changes nothing, and neither does an empty list of addresses.
	List func(ctx context.Context, l *Link) (Members, error)
	// Rand chooses members; nil is seeded at random.
	Rand *rand.Rand
}

// Pool keeps one connection, and another one to the leader while there are changes for it.
type Pool struct {
	options Options
	demand  chan struct{}
	pause   bool           // Whether the next attempt to connect waits; Run's own.
	closing sync.WaitGroup // Retired links that are being closed.
	leader  *leading
	doubts  chan *Link // Of members that owe answers, and of which nothing comes.

	mu       sync.Mutex // Guards what follows, and the links' users and gone.
	hosts    *hosts.List
	current  *Link
	changed  chan struct{} // Closed and replaced when current, tried or closed changes.
	waiting  int
	tried    uint64    // Rounds over all members that failed.
	attempts uint64    // To connect, that began.
	failed   []failure // Since the last member that could be connected to, the last of each member.
	reached  bool      // Whether a member was ever connected to.
	closed   bool
}

// failure is why an attempt to reach a member failed.
type failure struct {
	address string
	cause   error
	attempt uint64
}

// New returns a pool; Run brings it to life.
func New(o Options) *Pool {
	if o.Rand == nil {
		o.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) //nolint:gosec // Spreads load; nothing secret hangs on it.
	}
	p := &Pool{options: o, demand: make(chan struct{}, 1), doubts: make(chan *Link, doubtsMax), changed: make(chan struct{})}
	p.leader = newLeading(p)
	if o.Fixed {
		p.options.List, p.hosts = nil, hosts.InOrder(o.Members)
	} else {
		p.hosts = hosts.New(o.Members, o.Rand)
	}
	return p
}

// Get returns the current link, waiting for one until ctx ends. Release it. As long as no member was ever connected to, it fails with an
// *UnreachableError if TLS fails at every member for a certificate.
func (p *Pool) Get(ctx context.Context) (*Link, error) { return p.get(ctx, false) }

// GetNow is Get, but fails with an *UnreachableError once every member was tried in vain.
func (p *Pool) GetNow(ctx context.Context) (*Link, error) { return p.get(ctx, true) }

func (p *Pool) get(ctx context.Context, now bool) (*Link, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting++
	defer func() { p.waiting-- }()
	for begun, before := p.tried, p.attempts; ; {
		switch {
		case p.closed:
			return nil, ErrClosed
		case p.current != nil:
			p.current.users++
			return p.current, nil
		case p.tried > begun && len(p.failed) > 0 && (now || p.distrusted(before)): // A member that came and went since is tried again.
			return nil, p.unreachable()
		}
		select {
		case p.demand <- struct{}{}:
		default:
		}
		changed := p.changed
		p.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-ctx.Done():
			err = ctx.Err()
		}
		p.mu.Lock()
		if err != nil {
			if len(p.failed) > 0 && p.current == nil {
				err = errors.Join(err, p.unreachable())
			}
			return nil, err
		}
	}
}

// Current returns the link that there is right now, or nil. Release it.
func (p *Pool) Current() *Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil {
		p.current.users++
	}
	return p.current
}

// Members returns the list of members as it is followed now, sorted, and the address of the one connected to, if any.
func (p *Pool) Members() (all []string, current string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil {
		current = p.current.Address
	}
	return p.hosts.Members(), current
}

// Run connects, follows and moves until ctx ends, and then closes everything.
func (p *Pool) Run(ctx context.Context) {
	defer p.close()
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { p.leader.lead(ctx) })
	beside.Go(func() { p.keepVigil(ctx) })
	pauses := &backoff.Backoff{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.demand:
		}
		link := p.connect(ctx, pauses)
		for link != nil {
			next := p.follow(ctx, link)
			if next == nil && link.Answers() > 0 {
				pauses = &backoff.Backoff{} // It was a good member; its successor is tried at once.
				p.pause = false
			}
			link = next
		}
	}
}

// connect tries members until one answers, ctx ends, or nobody waits any more.
func (p *Pool) connect(ctx context.Context, pauses *backoff.Backoff) *Link {
	round := 0 // Attempts of this round over all members.
	for failed := 0; p.wanted(); failed++ {
		if p.pause && !pauses.Wait(ctx) {
			return nil
		}
		p.pause = true
		address := p.pick(round)
		link, err := p.dial(ctx, address, failed)
		if err == nil {
			p.use(link)
			return link
		}
		if ctx.Err() != nil {
			return nil
		}
		round++
		if p.noteFailed(address, err, round) {
			round = 0
		}
	}
	return nil
}

// pick returns the next member to try. After all members that are known it is one of those that were known first: the
// cluster may have told addresses that cannot be reached from here.
func (p *Pool) pick(failed int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if failed >= p.hosts.Len() {
		return p.options.Members[p.options.Rand.IntN(len(p.options.Members))]
	}
	return p.hosts.Next()
}

// noteFailed notes that an attempt failed, of which there were so many in this round. It reports whether that was every member.
func (p *Pool) noteFailed(address string, cause error, round int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(address, cause)
	if round < p.hosts.Len() {
		return false
	}
	p.tried++
	p.notify()
	return round > p.hosts.Len()
}

// note notes why a member could not be reached. Call it under mu.
func (p *Pool) note(address string, cause error) {
	members := p.hosts.Members()
	p.failed = slices.DeleteFunc(p.failed, func(f failure) bool {
		return f.address == address || !slices.Contains(members, f.address) && !slices.Contains(p.options.Members, f.address)
	})
	p.failed = append(p.failed, failure{address: address, cause: cause, attempt: p.attempts})
}

// Unreachable returns why no member could be reached so far.
func (p *Pool) Unreachable() *UnreachableError {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unreachable()
}

// unreachable is Unreachable under mu. It is never changed, as callers keep it.
func (p *Pool) unreachable() *UnreachableError {
	e := &UnreachableError{}
	for _, f := range p.failed {
		e.Addresses = append(e.Addresses, f.address)
		e.Causes = append(e.Causes, f.cause)
	}
	for _, address := range p.hosts.Members() {
		if !slices.Contains(e.Addresses, address) {
			e.Addresses = append(e.Addresses, address)
			e.Causes = append(e.Causes, errNotYet)
		}
	}
	e.distrusted = !p.reached && !slices.ContainsFunc(e.Causes, func(cause error) bool {
		c, ok := errors.AsType[*CauseError](cause)
		return !ok || !c.tls
	})
	return e
}

// distrusted reports whether TLS fails for certificates at every member, all of which were tried since there had been so many attempts, and no member
// was ever connected to. Call it under mu.
func (p *Pool) distrusted(before uint64) bool {
	return p.unreachable().TLS() && !slices.ContainsFunc(p.failed, func(f failure) bool { return f.attempt <= before })
}

func (p *Pool) wanted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting > 0
}

// dial connects to one member. After each round over all members that failed it waits twice as long: perhaps they are far away, or busy.
func (p *Pool) dial(ctx context.Context, address string, failed int) (*Link, error) {
	p.mu.Lock()
	p.attempts++
	members := p.hosts.Len()
	p.mu.Unlock()
	patience := max(dialMin, p.options.TTL/time.Duration(3*members))
	for range failed / members {
		patience = min(2*patience, dialMax)
	}
	ctx, cancel := context.WithTimeout(ctx, min(patience, dialMax))
	defer cancel()
	transport, err := p.options.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	return &Link{
		Transport: transport, Address: address, pool: p, retired: make(chan struct{}), failed: make(chan struct{}),
		lines: newLines(transport, func(ctx context.Context) (Transport, error) { return p.options.Dial(ctx, address) }),
	}, nil
}

// use makes a link the current one, and retires the one before.
func (p *Pool) use(link *Link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.current
	p.current, p.reached = link, true
	p.failed = slices.DeleteFunc(p.failed, func(f failure) bool { return !errors.Is(f.cause, errNoAPI) })
	p.hosts.Connected()
	p.notify()
	if old != nil {
		p.retire(old)
	}
}

// retire takes a link out of use. Call it under mu.
func (p *Pool) retire(link *Link) {
	link.gone = true
	close(link.retired)
	if link.users == 0 {
		p.closing.Go(func() { _ = link.Close() }) // Not under mu: it takes a moment.
	}
}

// notify wakes who waits. Call it under mu.
func (p *Pool) notify() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// drop takes a failed link out of use.
func (p *Pool) drop(link *Link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	link.gone = true
	if p.leader.link == link {
		p.leader.link = nil
	}
	if p.current == link {
		p.current = nil
		p.notify()
	}
}

// release takes back what Get gave.
func (p *Pool) release(link *Link) {
	p.mu.Lock()
	link.users--
	last := link.users == 0 && link.gone
	p.mu.Unlock()
	if last {
		_ = link.Close()
	}
}

// follow stays with a link, and asks for the list of members now and then. It returns the next link after a move, and nil
// when the link broke.
func (p *Pool) follow(ctx context.Context, link *Link) *Link {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		defer cancel() // Asking and dialing end with the link.
		select {
		case <-link.Broken():
		case <-link.failed:
		case <-stop:
		}
	}()
	defer func() { close(stop); <-watched }()
	for {
		if next := p.rebalance(ctx, link); next != nil {
			p.use(next)
			return next
		}
		pause := time.NewTimer(p.listPause())
		select {
		case <-ctx.Done():
			pause.Stop()
			p.Refused(link)
			link.Fail()
			return nil
		case <-pause.C:
		case <-p.leader.list:
			pause.Stop()
		}
	}
}

// Refused reports whether who answers on a link is no member, and notes that as the cause why the link is of no use.
func (p *Pool) Refused(link *Link) bool {
	t, ok := link.Transport.(*memberTransport)
	if !ok || !t.refused.Load() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(link.Address, errNoAPI)
	return true
}

// answered notes that a member gave a good answer.
func (p *Pool) answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = nil
}

// listPause returns how long until the list is asked for again: not all clients ask at the same time.
func (p *Pool) listPause() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return listEvery*9/10 + time.Duration(p.options.Rand.Int64N(int64(listEvery/5)))
}

// rebalance asks for the list of members, and returns a link to another one if the client should move there and it answers.
func (p *Pool) rebalance(ctx context.Context, link *Link) *Link {
	if p.options.List == nil {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, listPatience)
	list, err := p.options.List(asking, link)
	cancel()
	if err != nil {
		return nil
	}
	p.leader.learn(list.Leader)
	if len(list.Addresses) == 0 {
		return nil
	}
	p.mu.Lock()
	moves := p.hosts.Update(list.Addresses, link.Address)
	p.mu.Unlock()
	if !moves {
		return nil
	}
	for ctx.Err() == nil {
		p.mu.Lock()
		if !p.hosts.Moving() {
			p.mu.Unlock()
			return nil // Nobody there answered: better the member that does.
		}
		address := p.hosts.Next()
		p.mu.Unlock()
		next, err := p.dial(ctx, address, 0)
		if err == nil && ctx.Err() == nil {
			return next
		}
		if err == nil {
			_ = next.Close()
		}
	}
	return nil
}

// close ends all that is left.
func (p *Pool) close() {
	p.mu.Lock()
	p.closed = true
	p.notify()
	current := p.current
	p.mu.Unlock()
	if current != nil {
		current.Fail()
	}
	p.closing.Wait()
}
