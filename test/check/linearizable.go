package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// searchMax bounds the search for one key, if nothing else is said. A search that takes longer is a violation: nothing was shown.
const searchMax = 5 * time.Minute

// register is one key as a client can know it.
type register struct {
	exists bool
	value  string
	mod    uint64 // zero: it exists, but nobody has seen its revision yet
}

// registerInput is what was asked of a key, and registerOutput what was answered.
type registerInput struct {
	kind       Kind
	value      string
	ifRevision *uint64
}

type registerOutput struct {
	known    bool // false: the outcome is unknown
	found    bool
	value    string
	mod      uint64
	refused  bool // a comparison failed; mod is what is
	deleted  bool
	revision uint64
}

// registerModel is a key with compare-and-set on its revision.
func registerModel() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{register{}} },
		Step: func(state, input, output any) []any {
			s, _ := state.(register)
			in, _ := input.(registerInput)
			out, _ := output.(registerOutput)
			return stepRegister(s, in, out)
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
	}
	return m.ToModel()
}

// matches says whether a revision agrees with what is known of the key, and what is known then.
func (s register) matches(mod uint64) (register, bool) {
	if s.exists && s.mod == 0 && mod != 0 {
		s.mod = mod
		return s, true
	}
	return s, s.mod == mod
}

func stepRegister(s register, in registerInput, out registerOutput) []any {
	switch in.kind {
	case KindGet:
		if out.found != s.exists || out.value != s.value {
			return nil
		}
		if next, ok := s.matches(out.mod); ok {
			return []any{next}
		}
		return nil
	case KindPut:
		return putRegister(s, in, out)
	default:
		if !out.known {
			return []any{s, register{}}
		}
		if out.deleted != s.exists {
			return nil
		}
		return []any{register{}}
	}
}

func putRegister(s register, in registerInput, out registerOutput) []any {
	after := register{exists: true, value: in.value, mod: out.revision}
	if !out.known {
		return []any{s, after}
	}
	if in.ifRevision != nil {
		want := *in.ifRevision
		if out.refused {
			next, ok := s.matches(out.mod)
			if !ok || out.mod == want {
				return nil
			}
			return []any{next}
		}
		if _, ok := s.matches(want); !ok {
			return nil
		}
	}
	if out.revision <= s.mod {
		return nil
	}
	return []any{after}
}

// linearizable searches an order for the operations on each key, and for what was seen of each exclusive lock.
func linearizable(h *History, o Options, c *checker) {
	keys := map[string][]porcupine.Operation{}
	for _, op := range h.Ops {
		addRegisterOps(keys, op)
	}
	locked := lockedKeys(h)
	for _, key := range sortedKeys(keys) {
		if locked[key] {
			continue // Holders and waiters move such a key too; Replay knows how.
		}
		c.count("keys", 1)
		c.count("operations", len(keys[key]))
		settleUnknown(keys[key])
		search(c, o, registerModel(), keys[key], "key "+key)
	}
	linearizableLocks(h, o, c)
}

// settleUnknown turns puts with an unknown outcome, whose value was read, into what they must have been: puts that were made, with the
// revision that was read. They stand between what has smaller revisions and what has greater ones. Without it the search tries all
// orders of puts that take effect long after their clients gave up. A value that several operations put, or that was read with several
// revisions, is left to the search.
func settleUnknown(ops []porcupine.Operation) {
	puts := map[string]int{}
	seen := map[string]uint64{} // revisions, by values
	for _, op := range ops {
		in, _ := op.Input.(registerInput)
		out, _ := op.Output.(registerOutput)
		switch known := seen[out.value]; {
		case in.kind == KindPut:
			puts[in.value]++
		case in.kind == KindGet && out.found && (known == 0 || known == out.mod):
			seen[out.value] = out.mod
		case in.kind == KindGet && out.found:
			puts[out.value] += 2
		}
	}
	for i := range ops {
		in, _ := ops[i].Input.(registerInput)
		out, _ := ops[i].Output.(registerOutput)
		if mod := seen[in.value]; in.kind == KindPut && !out.known && mod != 0 && puts[in.value] == 1 {
			ops[i].Output = registerOutput{known: true, revision: mod}
			narrow(&ops[i], mod, ops)
		}
	}
}

// narrow lets a put of a revision begin when the last of what has smaller ones begins, and end when the first of what has greater ones, or
// of what read it, ends.
func narrow(put *porcupine.Operation, revision uint64, ops []porcupine.Operation) {
	call, ret := put.Call, put.Return
	for _, op := range ops {
		out, _ := op.Output.(registerOutput)
		switch shown := max(out.mod, out.revision); {
		case shown == 0:
		case shown < revision:
			call = max(call, op.Call)
		case shown > revision || out.mod == revision:
			ret = min(ret, op.Return)
		}
	}
	put.Call, put.Return = call, max(call, ret)
}

func search(c *checker, o Options, model porcupine.Model, ops []porcupine.Operation, what string) {
	within := cmp.Or(o.SearchMax, searchMax)
	switch porcupine.CheckOperationsTimeout(model, ops, within) {
	case porcupine.Illegal:
		c.fail("%s: no order of its %d operations explains the answers", what, len(ops))
	case porcupine.Unknown:
		c.add(Violation{
			Checker: c.name, Text: fmt.Sprintf("%s: no order of its %d operations found in %v", what, len(ops), within), Undecided: true,
		})
	case porcupine.Ok:
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// lockedKeys are keys that something else than puts and deletes moves.
func lockedKeys(h *History) map[string]bool {
	out := map[string]bool{}
	for _, o := range h.Ops {
		switch o.Kind {
		case KindAcquire, KindRelease, KindCancel, KindBreak, KindGetLock:
			out[o.Key] = true
		default:
		}
		if o.Kind == KindPut && o.Session != "" && o.Owner == "bind" {
			out[o.Key] = true
		}
	}
	for _, e := range h.Events {
		if e.Bound != "" || e.Kind == "lock_granted" {
			out[e.Key] = true
		}
	}
	return out
}

// addRegisterOps adds what an operation did to each key. A transaction is one operation on every key of it: that each of
// them has an order is necessary, that they have one together is for Replay.
func addRegisterOps(keys map[string][]porcupine.Operation, o *Op) {
	ret := o.Return
	if o.Outcome == Unknown || ret == 0 {
		ret = math.MaxInt64
	}
	add := func(key string, in registerInput, out registerOutput) {
		keys[key] = append(keys[key], porcupine.Operation{Input: in, Call: o.Call, Output: out, Return: ret})
	}
	switch o.Kind {
	case KindGet:
		if o.Outcome == OK && !o.Stale {
			add(o.Key, registerInput{kind: KindGet}, registerOutput{known: true, found: o.Found, value: o.Read, mod: o.ModRevision})
		}
	case KindPut, KindDelete:
		in := registerInput{kind: o.Kind, value: o.Value, ifRevision: o.IfRevision}
		switch {
		case o.Outcome == Refused && o.Reason == "compare_failed":
			add(o.Key, in, registerOutput{known: true, refused: true, mod: o.ModRevision})
		case o.Outcome == OK:
			add(o.Key, in, registerOutput{known: true, revision: o.Revision, deleted: o.Done})
		case o.Outcome == Unknown:
			add(o.Key, in, registerOutput{})
		default:
		}
	case KindTxn:
		addTxn(o, add)
	default:
	}
}

func addTxn(o *Op, add func(string, registerInput, registerOutput)) {
	for i, s := range o.Steps {
		earlier := slices.ContainsFunc(o.Steps[:i], func(e Step) bool { return e.Key == s.Key })
		switch {
		case o.Outcome == Refused || o.Outcome == Unknown && s.Kind == KindGet:
		case s.Kind == KindGet && earlier:
			// It saw its own transaction's write.
		case s.Kind == KindGet:
			add(s.Key, registerInput{kind: KindGet}, registerOutput{known: true, found: s.Found, value: s.Read, mod: s.ModRevision})
		default:
			add(s.Key, registerInput{kind: s.Kind, value: s.Value},
				registerOutput{known: o.Outcome == OK, revision: o.Revision, deleted: s.Found})
		}
	}
}

// lockInput is a change of an exclusive lock, or what somebody saw of it.
type lockInput struct {
	kind  string // grant, end, see
	token uint64
}

func lockModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return uint64(0) },
		Step: func(state, input, _ any) (bool, any) {
			held, _ := state.(uint64)
			in, _ := input.(lockInput)
			switch in.kind {
			case "grant":
				return held == 0, in.token
			case "end":
				return held == in.token, uint64(0)
			default:
				return held == in.token, held
			}
		},
	}
}

// earliest returns a time before which the event was not made.
func (e *Event) earliest(o Options) int64 {
	if e.NotBefore != 0 {
		return e.NotBefore
	}
	return e.At - o.SlackMs*1e6
}

// linearizableLocks takes grants and ends from the events and asks whether what clients saw fits between them. A change
// may stand for when it was first applied: nobody saw it before, and whoever asked later saw it, or a newer one.
func linearizableLocks(h *History, o Options, c *checker) {
	locks := map[string][]porcupine.Operation{}
	exclusive := map[string]bool{}
	for _, e := range h.Events {
		kind, token := "", e.Token
		switch {
		case e.Mode != "exclusive" && e.Mode != "" || e.Kind == "lock_granted" && e.At == 0:
			exclusive[e.Key] = false
		case e.Kind == "lock_granted":
			kind, token = "grant", e.Revision
			if _, known := exclusive[e.Key]; !known {
				exclusive[e.Key] = true
			}
		case e.Kind == "lock_released" || e.Kind == "lock_lost":
			kind = "end"
		}
		if kind != "" {
			locks[e.Key] = append(locks[e.Key], porcupine.Operation{
				Input: lockInput{kind, token}, Call: e.earliest(o), Return: e.At,
			})
		}
	}
	for _, op := range h.Ops {
		if op.Outcome != OK || op.Stale {
			continue
		}
		see := func(token uint64) {
			locks[op.Key] = append(locks[op.Key], porcupine.Operation{Input: lockInput{"see", token}, Call: op.Call, Return: op.Return})
		}
		switch {
		case op.Kind == KindAcquire && op.Hold != nil, op.Kind == KindGetLock && op.Hold != nil:
			see(op.Hold.Token)
		case op.Kind == KindGetLock && op.Holders == 0:
			see(0)
		}
	}
	for _, key := range sortedKeys(locks) {
		if exclusive[key] {
			c.count("locks", 1)
			c.count("lock operations", len(locks[key]))
			search(c, o, lockModel(), locks[key], "lock "+key)
		}
	}
}
