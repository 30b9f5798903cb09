package storage_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// limitTo sets one limit, named by its field.
func limitTo(name string, n uint64) *storev1.Limits {
	limits := &storev1.Limits{}
	m := limits.ProtoReflect()
	f := m.Descriptor().Fields().ByName(protoreflect.Name(name))
	switch f.Kind() {
	case protoreflect.Uint32Kind:
		m.Set(f, protoreflect.ValueOfUint32(uint32(n)))
	case protoreflect.Int64Kind:
		m.Set(f, protoreflect.ValueOfInt64(int64(n)))
	default:
		m.Set(f, protoreflect.ValueOfUint64(n))
	}
	return limits
}

func forced(limits *storev1.Limits) *storev1.Command {
	c := limitsCommand(limits)
	c.GetSetLimits().Force = true
	return c
}

// limitsOf returns the limits in force.
func limitsOf(r *rig) (limits *storev1.Limits) {
	r.t.Helper()
	r.read(func(reader *storage.Reader) (err error) {
		limits, err = reader.Limits()
		return err
	})
	return limits
}

// TestEveryLimitHasBounds sets each limit to the least and the most that it can be, and to one less and one more.
func TestEveryLimitHasBounds(t *testing.T) {
	fields := (&storev1.Limits{}).ProtoReflect().Descriptor().Fields()
	bounds := storage.BoundsOfLimits()
	if len(bounds) != fields.Len() {
		t.Fatalf("got bounds of %d limits, want those of %d", len(bounds), fields.Len())
	}
	store, old := newStore(t, vfs.NewMem(), "sm"), oldStore(t, vfs.NewMem(), "sm")
	defaults := limitsOf(&rig{t: t, store: store}).ProtoReflect()
	for _, b := range bounds {
		f := fields.ByName(protoreflect.Name(b.Name))
		if n := asNumber(defaults.Get(f).Interface()); n < b.Least || n > b.Most {
			t.Errorf("%s: the default %d is not within %d and %d", b.Name, n, b.Least, b.Most)
		}
		for n, ok := range map[uint64]bool{0: true, b.Least: true, b.Most: true, b.Least - 1: b.Least == 1, b.Most + 1: false} {
			for _, command := range []*storev1.Command{limitsCommand(limitTo(b.Name, n)), forced(limitTo(b.Name, n))} {
				got := applyEach(t, store, command)[0].GetFailure()
				bound := b.Most
				if n < b.Least {
					bound = b.Least
				}
				switch {
				case ok && got != nil:
					t.Errorf("%s of %d: got %v, want that it is set", b.Name, n, got)
				case ok:
				case b.Name == "session_objects_max" && n > b.Most: // It had that bound before, with a text of its own.
				case got.GetReason() != storev1.FailureReason_FAILURE_REASON_INVALID_COMMAND || got.GetLimitName() != b.Name ||
					got.GetLimit() != bound || got.GetActual() != n || !namesAll(got, b.Name, bound, n):
					t.Errorf("%s of %d: got %v, %q, want it refused with the bound %d", b.Name, n, got, storage.FailureText(got), bound)
				}
			}
			budget := strings.HasPrefix(b.Name, "command_") || b.Name == "session_objects_max" && n > b.Most
			if got := applyEach(t, old, limitsCommand(limitTo(b.Name, n)))[0].GetFailure(); got != nil && !budget {
				t.Errorf("%s of %d: under version 1 got %v, want that it is set", b.Name, n, got)
			}
		}
	}
	if got := applyEach(t, store, &storev1.Command{Kind: &storev1.Command_SetLimits{SetLimits: &storev1.SetLimits{}}})[0]; got.GetFailure() != nil {
		t.Errorf("no limits: got %v, want that nothing is changed", got)
	}
}

func asNumber(n any) uint64 {
	switch n := n.(type) {
	case uint32:
		return uint64(n)
	case int64:
		return uint64(n)
	case uint64:
		return n
	default:
		panic(fmt.Sprintf("limit is a %T", n))
	}
}

// namesAll reports whether a failure's text names what people need.
func namesAll(f *storev1.Failure, all ...any) bool {
	text := storage.FailureText(f)
	return !slices.ContainsFunc(all, func(a any) bool { return !strings.Contains(text, fmt.Sprint(a)) })
}

// TestLimitsInForceCanBeSetAgain reads the limits where the store may have the fewest bytes, of which others are parts, and sets
// all of them to what they are.
func TestLimitsInForceCanBeSetAgain(t *testing.T) {
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.apply(limitsCommand(limitTo("store_bytes_max", 1<<20)))
	before := limitsOf(r)
	if f := applyEach(t, r.store, limitsCommand(before))[0].GetFailure(); f != nil {
		t.Errorf("got %v, want that all limits can be what they are", f)
	}
	if after := limitsOf(r); !proto.Equal(after, before) {
		t.Errorf("got %v, want %v", after, before)
	}
}

// TestALimitBelowUseNeedsForce lowers each limit of which the state counts the use below that.
func TestALimitBelowUseNeedsForce(t *testing.T) {
	fill := func(store *storage.Store) *rig {
		r := &rig{t: t, store: store}
		r.remembered(40, 3)
		r.sessions(40, 20)
		r.applyMany(putsOfSize(20, 100<<10))
		return r
	}
	r := fill(newStore(t, vfs.NewMem(), "sm"))
	at := r.store.Applied()
	for name, use := range map[string]struct{ used, low, higher, enough uint64 }{
		"store_bytes_max":       {at.StoreBytes, 1 << 20, 2 << 20, at.StoreBytes * 2},
		"sessions_max":          {20, 16, 19, 20},
		"history_bytes_max":     {at.HistoryBytes, 64 << 10, 1 << 20, at.HistoryBytes},
		"ended_sessions_max":    {40, 1, 39, 40},
		"tombstone_bytes_max":   {at.TombstoneBytes, 1, at.TombstoneBytes - 1, at.TombstoneBytes},
		"idempotency_keys_max":  {40, 1, 39, 40},
		"idempotency_bytes_max": {at.KeyedBytes, 1, at.KeyedBytes - 1, at.KeyedBytes},
	} {
		t.Run(name, func(t *testing.T) {
			r := fill(newStore(t, vfs.NewMem(), "sm"))
			set := func(command *storev1.Command) *storev1.Failure { return applyEach(t, r.store, command)[0].GetFailure() }
			if f := set(limitsCommand(limitTo(name, use.enough))); f != nil {
				t.Errorf("%d: got %v, want that it is set", use.enough, f)
			}
			if name == "store_bytes_max" {
				use.used = r.store.Applied().StoreBytes // With the limit that was set.
			}
			before := limitsOf(r)
			f := set(limitsCommand(limitTo(name, use.low)))
			if f.GetReason() != storev1.FailureReason_FAILURE_REASON_LIMIT_IN_USE || f.GetLimitName() != name ||
				f.GetLimit() != use.low || f.GetActual() != use.used || !namesAll(f, name, use.low, use.used, "force") {
				t.Errorf("%d: got %v, %q, want it refused because %d is in use", use.low, f, storage.FailureText(f), use.used)
			}
			if after := limitsOf(r); !proto.Equal(after, before) {
				t.Errorf("a refused limit changed them to %v, want %v", after, before)
			}
			if f = set(forced(limitTo(name, use.low))); f != nil {
				t.Errorf("with force: got %v, want that it is set", f)
			}
			// Above their limits, all other limits may still be set, and this one raised.
			if f = set(limitsCommand(limitTo("waiters_max", 10))); f != nil {
				t.Errorf("another limit: got %v, want that it is set", f)
			}
			if f = set(limitsCommand(limitTo(name, use.higher))); f != nil {
				t.Errorf("raised: got %v, want that it is set", f)
			}
			old := fill(oldStore(t, vfs.NewMem(), "sm"))
			if f = applyEach(t, old.store, limitsCommand(limitTo(name, use.low)))[0].GetFailure(); f != nil {
				t.Errorf("under version 1: got %v, want that it is set", f)
			}
		})
	}
}

// TestAStoreThatWouldBeFullAtOnceNeedsForce sets the limit of the store to the least that leaves what is in use room to grow, and to
// one less.
func TestAStoreThatWouldBeFullAtOnceNeedsForce(t *testing.T) {
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.apply(limitsCommand(limitTo("waiters_max", 10))) // What limits were set takes room as well.
	r.applyMany(putsOfSize(20, 100<<10))
	for r.compactTo(r.store.Applied().Revision) { // History is less than the part of the store that it may have.
		continue
	}
	bytes := r.store.Applied().StoreBytes
	enough := bytes
	for storage.GrowthBytesMax(&storev1.Limits{StoreBytesMax: &enough}) <= bytes {
		enough++
	}
	if f := applyEach(t, r.store, limitsCommand(limitTo("store_bytes_max", enough-1)))[0].GetFailure(); f.GetReason() !=
		storev1.FailureReason_FAILURE_REASON_LIMIT_IN_USE || !namesAll(f, enough) {
		t.Errorf("got %v, %q, want it refused with %d", f, storage.FailureText(f), enough)
	}
	if f := applyEach(t, r.store, limitsCommand(limitTo("store_bytes_max", enough)))[0].GetFailure(); f != nil {
		t.Errorf("got %v, want that it is set", f)
	}
}

// TestNoLimitStopsOperators sets all limits to the least that they can be, in a store that has more of everything. Members join and
// leave, and limits are raised.
func TestNoLimitStopsOperators(t *testing.T) {
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.remembered(40, 3)
	r.sessions(40, 20)
	r.applyMany(putsOfSize(20, 100<<10))
	for _, b := range storage.BoundsOfLimits() {
		r.apply(forced(limitTo(b.Name, b.Least)))
	}
	if f := applyEach(t, r.store, putCommand("more", ""))[0].GetFailure(); f.GetReason() != storev1.FailureReason_FAILURE_REASON_STORE_FULL {
		t.Fatalf("put: got %v, want that the store is full", f)
	}
	for _, line := range []string{
		"member 1 name=m1 peer=h1:1 incarnation=10",
		"make-join-token m2 t2 ttl=1h",
		"join 2 name=m2 peer=h2:1 incarnation=20 token=t2",
		"delete-member 2",
		"set-limits store-bytes-max=0 sessions-max=0",
		"put more 1",
		"session s99",
	} {
		if f := applyEach(t, r.store, parseCommand(t, line))[0].GetFailure(); f != nil {
			t.Errorf("%s: got %v, want that it is done", line, f)
		}
	}
}

// TestBoundsOfLimitsAreDocumented looks for the bounds of every limit in the table for operators.
func TestBoundsOfLimitsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range storage.BoundsOfLimits() {
		name := camelOf(b.Name)
		line := fmt.Sprintf("| `%s` | %s | %s |", name, amountOf(b.Name, b.Least), amountOf(b.Name, b.Most))
		if !strings.Contains(string(text), line) {
			t.Errorf("docs/operations.md has no line %q", line)
		}
	}
}

// camelOf returns the name of a limit over REST.
func camelOf(name string) string {
	if name == "history_ms" {
		return "historyDuration"
	}
	parts := strings.Split(name, "_")
	for i, part := range parts[1:] {
		parts[i+1] = strings.ToUpper(part[:1]) + part[1:]
	}
	return strings.Join(parts, "")
}

// amountOf returns what people read of a limit.
func amountOf(name string, n uint64) string {
	const day = 24 * 60 * 60 * 1000
	switch {
	case name == "history_ms" && n%day == 0:
		return fmt.Sprintf("%d days", n/day)
	case name == "history_ms":
		return fmt.Sprintf("%d s", n/1000)
	case strings.HasSuffix(name, "bytes_max") && n >= 1<<10:
		units := []string{"KiB", "MiB", "GiB", "TiB"}
		for n >>= 10; n >= 1<<10; n >>= 10 {
			units = units[1:]
		}
		return fmt.Sprintf("%d %s", n, units[0])
	}
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + " " + digits[i:]
	}
	return digits
}
