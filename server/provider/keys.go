package provider

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

const (
	// tick is how often is looked whether something is to be done.
	tick = time.Second
	// fetchEvery is how often keys are fetched.
	fetchEvery = 10 * time.Minute
	// fetchAgain is how long after an attempt that failed the next one begins.
	fetchAgain = time.Minute
	// askPause is how often keys are fetched at most because a token names one that is not known.
	askPause = 10 * time.Second
	// askWait is how long a call waits for them.
	askWait = 3 * time.Second
	// staleAfter is after how long without an answer keys are called stale. They stay in use.
	staleAfter = time.Hour
)

// ProblemStale means that keys of providers could not be fetched for long, or never, or that a provider publishes none that can be used.
const ProblemStale = "jwks-stale"

// Options are what Keys need.
type Options struct {
	// Store is the state machine.
	Store func() *storage.Store
	// Registerer takes the metrics.
	Registerer prometheus.Registerer
	// Logger takes a line for each attempt that fails, and for each change of a provider's keys.
	Logger *zap.Logger
	// Now is the wall clock; nil is the machine's.
	Now func() time.Time
	// Fetch returns the key set of a provider; nil fetches it over HTTP.
	Fetch func(ctx context.Context, p *storev1.ProviderRecord) ([]byte, error)
}

// Keys are the keys of all providers, as this member knows them. Any goroutine may use them.
type Keys struct {
	store   func() *storage.Store
	log     *zap.Logger
	now     func() time.Time
	fetch   func(ctx context.Context, p *storev1.ProviderRecord) ([]byte, error)
	metrics *metrics
	wake    chan struct{} // somebody waits for keys

	looking sync.Mutex   // held while providers are read; comes before mu
	mu      sync.RWMutex // guards what follows, and what is in a set
	changes uint64       // the state of which sets are
	history [16]byte
	sets    map[string]*set // by name of the provider
}

// set are the keys of a provider.
type set struct {
	provider *storev1.ProviderRecord
	source   [sha256.Size]byte // of what says where the keys are
	keys     []key             // nil: not here yet
	left     leftOut           // what was published beside them
	asked    bool              // somebody waits for them
	tried    time.Time         // when the last attempt began
	fetched  time.Time         // when the last one that succeeded did
	failure  string            // of the last attempt; empty: none
	done     chan struct{}     // closed when the attempt that is under way, or the next one, ends
	underWay bool
}

// New returns keys, and registers their metrics. They are fetched while Run runs.
func New(o Options) (*Keys, error) {
	k := &Keys{
		store: o.Store, log: o.Logger, now: o.Now, fetch: o.Fetch, wake: make(chan struct{}, 1), sets: map[string]*set{},
	}
	if k.now == nil {
		k.now = time.Now
	}
	if k.fetch == nil {
		k.fetch = fetch
	}
	var err error
	k.metrics, err = newMetrics(o.Registerer, func() float64 {
		stale, keyless := k.lacking()
		return float64(len(stale) + len(keyless))
	})
	return k, err
}

// Run fetches keys until ctx ends.
func (k *Keys) Run(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var attempts sync.WaitGroup
	defer attempts.Wait()
	for {
		if err := k.look(); err != nil {
			k.log.Warn("providers are not to be read", zap.Error(err))
		}
		for _, s := range k.due() {
			attempts.Go(func() { k.attempt(ctx, s) })
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-k.wake:
		}
	}
}

// look takes over the providers that this member has applied.
func (k *Keys) look() error {
	k.looking.Lock()
	defer k.looking.Unlock()
	at := k.store().Applied()
	k.mu.RLock()
	known := at.AuthChanges == k.changes && at.HistoryID == k.history
	k.mu.RUnlock()
	if known {
		return nil
	}
	s := k.store().NewReader()
	at, err := s.Applied()
	var providers []*storev1.ProviderRecord
	if err == nil {
		providers, err = s.Providers()
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changes, k.history = at.AuthChanges, at.HistoryID
	sets := map[string]*set{}
	for _, p := range providers {
		source := sourceOf(p)
		next := k.sets[p.GetName()]
		if next == nil || next.source != source {
			next = successor(next, p)
			next.source = source
		}
		next.provider = p
		sets[p.GetName()] = next
	}
	k.sets = sets
	return nil
}

// successor returns the set of a provider whose keys are somewhere else from now on, or that is new. Keys of the same issuer stay in use until
// they are fetched from there, which is due at once: the provider's server may be away, and only its answer forgets them.
func successor(before *set, p *storev1.ProviderRecord) *set {
	next := &set{done: make(chan struct{})}
	switch {
	case p.GetJwks() != "":
		keys, err := parseKeySet([]byte(p.GetJwks()))
		next.keys, next.failure = keys, text(err)
	case before != nil && before.provider.GetIssuer() == p.GetIssuer():
		next.keys, next.fetched = before.keys, before.fetched
	}
	return next
}

// sourceOf returns a digest of what says where the keys of a provider are.
func sourceOf(p *storev1.ProviderRecord) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", p.GetIssuer(), p.GetJwks(), p.GetJwksUrl(), p.GetCaCertificates()))
}

// text returns the text of an error, or none.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// due marks the sets whose keys are to be fetched now as being fetched, and returns them.
func (k *Keys) due() []*set {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	var all []*set
	for _, name := range slices.Sorted(maps.Keys(k.sets)) {
		if s := k.sets[name]; s.due(now) {
			s.underWay, s.asked, s.tried = true, false, now
			all = append(all, s)
		}
	}
	return all
}

// due reports whether keys are to be fetched.
func (s *set) due(now time.Time) bool {
	since := now.Sub(s.tried)
	switch {
	case s.provider.GetJwks() != "" || s.underWay:
		return false
	case s.tried.IsZero() || s.asked && since >= askPause:
		return true
	case s.failure != "":
		return since >= fetchAgain
	default:
		return since >= fetchEvery
	}
}

// attempt fetches the keys of a provider. If that fails, those that are there stay, but for those that everybody can sign with. An answer without a
// key that can be used is no failure: the provider has withdrawn its keys.
func (k *Keys) attempt(ctx context.Context, s *set) {
	within, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	k.mu.RLock()
	p := s.provider
	k.mu.RUnlock()
	data, err := k.fetch(within, p)
	var got keySet
	if err == nil {
		got, err = parseFetched(data)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	close(s.done)
	s.done, s.underWay, s.failure = make(chan struct{}), false, text(err)
	switch {
	case errors.Is(err, ErrNoKey):
		k.log.Warn("a provider publishes no key that can be used", zap.String("provider", p.GetName()), zap.Error(err))
	case err != nil:
		if ctx.Err() == nil {
			k.metrics.fetches.WithLabelValues("failed").Inc()
			k.log.Warn("keys of a provider could not be fetched", zap.String("provider", p.GetName()), zap.Error(err))
		}
		before := len(s.keys)
		if s.keys = got.safe(s.keys); len(s.keys) < before {
			k.log.Warn("a provider publishes the private keys of keys in use; they are no longer used",
				zap.String("provider", p.GetName()), zap.Int("before", before), zap.Int("keys", len(s.keys)))
		}
		return
	}
	k.metrics.fetches.WithLabelValues("ok").Inc()
	if got.left != s.left && got.left != (leftOut{}) {
		k.log.Warn("a provider publishes keys that are left out", zap.String("provider", p.GetName()),
			zap.Int("private_or_symmetric", got.left.secret), zap.Int("unknown", got.left.unknown))
	}
	if before, after := idsOf(s.keys), idsOf(got.keys); !slices.Equal(before, after) {
		k.log.Info("keys of a provider changed", zap.String("provider", p.GetName()), zap.Int("before", len(before)), zap.Int("keys", len(after)))
	}
	s.keys, s.left, s.fetched = got.keys, got.left, k.now()
}

// idsOf returns the ids of keys.
func idsOf(keys []key) []KeyID {
	ids := make([]KeyID, len(keys))
	for i := range keys {
		ids[i] = keys[i].id
	}
	return ids
}

// of returns the keys of a provider as a snapshot has it; nil if they are not here.
func (k *Keys) of(p *storev1.ProviderRecord) []key {
	source := sourceOf(p)
	for range 2 {
		k.mu.RLock()
		s := k.sets[p.GetName()]
		var keys []key
		same := s != nil && s.source == source
		if same {
			keys = s.keys
		}
		k.mu.RUnlock()
		if same {
			return keys
		}
		if k.look() != nil { // It may be newer than what Run has seen.
			return nil
		}
	}
	return nil
}

// Holds reports whether a provider still has a key.
func (k *Keys) Holds(provider string, id KeyID) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	s := k.sets[provider]
	return s != nil && slices.ContainsFunc(s.keys, func(k key) bool { return k.id == id })
}

// Ask has the keys of a provider fetched again, unless that was done a short time ago, and waits for them, but not for long.
func (k *Keys) Ask(ctx context.Context, provider string) {
	k.mu.Lock()
	s := k.sets[provider]
	if s == nil || s.provider.GetJwks() != "" || !s.underWay && k.now().Sub(s.tried) < askPause {
		k.mu.Unlock()
		return
	}
	s.asked = true
	done := s.done
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default: // It is awake.
	}
	wait := time.NewTimer(askWait)
	defer wait.Stop()
	select {
	case <-done:
	case <-wait.C:
	case <-ctx.Done():
	}
}

// State is what is known of the keys of a provider.
type State struct {
	// Keys is how many there are.
	Keys int
	// Fetched is when they were last fetched; the zero time: never, or they are part of the provider.
	Fetched time.Time
	// Failure is why the last attempt failed; empty: it did not.
	Failure string
}

// State returns what is known of the keys of a provider, as the newest state that this member has applied says where they are.
func (k *Keys) State(provider string) State {
	if err := k.look(); err != nil {
		return State{Failure: err.Error()}
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	s := k.sets[provider]
	if s == nil {
		return State{}
	}
	return State{Keys: len(s.keys), Fetched: s.fetched, Failure: s.failure}
}

// lacking returns the providers whose keys could not be fetched for long, or never, and those that publish no key that can be used, by name.
func (k *Keys) lacking() (stale, keyless []string) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for name, s := range k.sets {
		switch {
		case s.failure == "":
		case s.keys == nil || k.now().Sub(s.fetched) > staleAfter:
			stale = append(stale, name)
		case len(s.keys) == 0:
			keyless = append(keyless, name)
		}
	}
	slices.Sort(stale)
	slices.Sort(keyless)
	return stale, keyless
}

// Problem returns what an operator should know of the keys; empty: nothing.
func (k *Keys) Problem() string {
	stale, keyless := k.lacking()
	var all []string
	if len(stale) > 0 {
		s := k.State(stale[0])
		since := "this never worked"
		if !s.Fetched.IsZero() {
			since = "this worked last at " + s.Fetched.UTC().Format(time.RFC3339)
		}
		all = append(all, fmt.Sprintf("keys of JSON Web Tokens cannot be fetched, for providers %s; for %s %s: %s",
			strings.Join(stale, ", "), stale[0], since, s.Failure))
	}
	if len(keyless) > 0 {
		all = append(all, "providers of JSON Web Tokens without a key that can be used, whose tokens are refused: "+strings.Join(keyless, ", "))
	}
	return strings.Join(all, "; ")
}
