package storage_test

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// parseLockCommand reads a command about a lock.
func parseLockCommand(w *words, verb string, cmd *storev1.Command) bool {
	w.t.Helper()
	switch verb {
	case "acquire":
		cmd.Kind = &storev1.Command_AcquireLock{AcquireLock: parseAcquire(w)}
	case "cancel":
		cmd.Kind = &storev1.Command_CancelWait{CancelWait: &storev1.CancelWait{
			Key: w.next(), Session: w.ref("session"), Owner: w.str("owner"),
			Place: w.num("place"), UnlessFound: w.flag("unless-found"),
		}}
	case "end-waits":
		e := &storev1.EndWaits{Term: w.num("term")}
		for len(w.pos) > 0 {
			e.Places = append(e.Places, parsePlace(w.t, w.next()))
		}
		cmd.Kind = &storev1.Command_EndWaits{EndWaits: e}
	case "release":
		cmd.Kind = &storev1.Command_ReleaseLock{ReleaseLock: parseRelease(w)}
	case "resign":
		r := &storev1.Resign{
			Key: w.next(), Session: w.ref("session"), Owner: w.str("owner"), LockIndex: w.num("lock-index"),
			ToOwner: w.str("to-owner"),
		}
		if w.has("to") {
			r.ToSessionId = id(w.t, w.str("to"))
		}
		cmd.Kind = &storev1.Command_Resign{Resign: r}
	case "break":
		b := &storev1.BreakLock{Key: w.next(), Reason: w.str("reason"), By: w.str("by")}
		if w.has("session") {
			b.SessionId = id(w.t, w.str("session"))
		}
		if w.has("owner") {
			b.Owner = new(w.str("owner"))
		}
		b.Most = uint32(w.num("most"))
		if w.has("from") {
			b.From = parseBreakPoint(w)
		}
		cmd.Kind = &storev1.Command_BreakLock{BreakLock: b}
	default:
		return false
	}
	return true
}

// parseBreakPoint reads REVISION:LAST:AFTER, as a break that left something answers it.
func parseBreakPoint(w *words) *storev1.BreakPoint {
	w.t.Helper()
	p := &storev1.BreakPoint{}
	if _, err := fmt.Sscanf(w.str("from"), "%d:%d:%d", &p.Revision, &p.LastLockIndex, &p.AfterLockIndex); err != nil {
		w.t.Fatalf("from=REVISION:LAST:AFTER: %v", err)
	}
	return p
}

func parseAcquire(w *words) *storev1.AcquireLock {
	w.t.Helper()
	modes := map[string]storev1.LockMode{
		"":          storev1.LockMode_LOCK_MODE_EXCLUSIVE,
		"exclusive": storev1.LockMode_LOCK_MODE_EXCLUSIVE,
		"shared":    storev1.LockMode_LOCK_MODE_SHARED,
		"semaphore": storev1.LockMode_LOCK_MODE_SEMAPHORE,
		"none":      storev1.LockMode_LOCK_MODE_UNSPECIFIED,
	}
	mode, ok := modes[w.str("mode")]
	if !ok {
		w.t.Fatalf("%s: unknown mode", w.line)
	}
	a := &storev1.AcquireLock{
		Session: w.ref("session"), Owner: w.str("owner"), Mode: mode, Permits: uint32(w.num("permits")),
		Limit: uint32(w.num("limit")), Queue: !w.flag("try"), WaitMs: w.ms("wait"), Flags: w.num("flags"),
		KeepKey: w.flag("keep-key"),
	}
	if w.has("value") {
		a.Value = []byte(w.str("value"))
	}
	a.Key = w.next()
	return a
}

func parseRelease(w *words) *storev1.ReleaseLock {
	w.t.Helper()
	r := &storev1.ReleaseLock{
		Session: w.ref("session"), Owner: w.str("owner"), LockIndex: w.num("lock-index"),
		Force: w.flag("force"), Reason: w.str("reason"),
	}
	switch {
	case w.has("put"):
		r.ValueOp = &storev1.ReleaseLock_Put{Put: []byte(w.str("put"))}
	case w.flag("delete"):
		r.ValueOp = &storev1.ReleaseLock_Delete{Delete: true}
	}
	r.Key = w.next()
	return r
}

// parsePlace reads key@place@session.
func parsePlace(t *testing.T, text string) *storev1.PlaceRef {
	t.Helper()
	parts := strings.Split(text, "@")
	if len(parts) != 3 {
		t.Fatalf("%s: want key@place@session", text)
	}
	return &storev1.PlaceRef{Key: parts[0], Place: parseNumber(t, parts[1]), SessionId: id(t, parts[2])}
}

// parseLimits reads limits by the names of their fields, with dashes.
func parseLimits(w *words) *storev1.Limits {
	w.t.Helper()
	limits := &storev1.Limits{}
	m := limits.ProtoReflect()
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		name := strings.ReplaceAll(string(f.Name()), "_", "-")
		if !w.has(name) {
			continue
		}
		n := w.num(name)
		switch f.Kind() {
		case protoreflect.Uint32Kind:
			m.Set(f, protoreflect.ValueOfUint32(uint32(n)))
		case protoreflect.Int64Kind:
			m.Set(f, protoreflect.ValueOfInt64(int64(n)))
		default:
			m.Set(f, protoreflect.ValueOfUint64(n))
		}
	}
	return limits
}

// parseOnce reads a request id (session@epoch@sequence@done_below) or an idempotency key. The digest is that of the
// line without them.
func parseOnce(w *words, cmd *storev1.Command) {
	w.t.Helper()
	cmd.Principal = w.str("principal")
	if w.has("request") {
		parts := strings.Split(w.str("request"), "@")
		if len(parts) != 4 {
			w.t.Fatalf("%s: want session@epoch@sequence@done_below", w.line)
		}
		cmd.RequestId = &storev1.RequestID{
			SessionId: id(w.t, parts[0]), Epoch: parseNumber(w.t, parts[1]),
			Sequence: parseNumber(w.t, parts[2]), DoneBelow: parseNumber(w.t, parts[3]),
		}
	}
	cmd.IdempotencyKey = []byte(w.str("idempotency-key"))
	if cmd.GetRequestId() != nil || len(cmd.GetIdempotencyKey()) > 0 {
		asked := regexp.MustCompile(`\s*(request|idempotency-key|principal)=\S+`).ReplaceAllString(w.line, "")
		digest := sha256.Sum256([]byte(asked))
		cmd.RequestDigest = digest[:]
	}
}

// parseGuards reads guards: held=key@lock_index@session@token, alive=session, exists=key, missing=key,
// mod-revision=key@n, create-revision=key@n, version=key@n, holder=key@session, where nobody is none, each behind "guard-".
func parseGuards(w *words, cmd *storev1.Command) {
	w.t.Helper()
	for _, name := range []string{"held", "alive", "exists", "missing", "mod-revision", "create-revision", "version", "holder"} {
		if w.has("guard-" + name) {
			cmd.Guards = append(cmd.Guards, parseGuard(w.t, name, w.str("guard-"+name)))
		}
	}
}

func parseGuard(t *testing.T, name, text string) *storev1.Guard {
	t.Helper()
	parts := strings.Split(text, "@")
	key := &storev1.KeyGuard{Key: parts[0]}
	switch name {
	case "held":
		if len(parts) != 4 {
			t.Fatalf("%s: want key@lock_index@session@token", text)
		}
		return &storev1.Guard{Condition: &storev1.Guard_Held{Held: &storev1.HeldGuard{
			Key: parts[0], LockIndex: parseNumber(t, parts[1]), SessionId: id(t, parts[2]), FencingToken: parseNumber(t, parts[3]),
		}}}
	case "alive":
		return &storev1.Guard{Condition: &storev1.Guard_SessionAlive{SessionAlive: id(t, text)}}
	case "exists":
		key.Exists = new(true)
	case "missing":
		key.Exists = new(false)
	case "mod-revision":
		key.ModRevision = new(parseNumber(t, parts[1]))
	case "create-revision":
		key.CreateRevision = new(parseNumber(t, parts[1]))
	case "version":
		key.Version = new(parseNumber(t, parts[1]))
	case "holder":
		key.HeldBySessionId = []byte{}
		if parts[1] != "nobody" {
			key.HeldBySessionId = id(t, parts[1])
		}
	default:
		t.Fatalf("unknown guard %q", name)
	}
	return &storev1.Guard{Condition: &storev1.Guard_Key{Key: key}}
}

// parseTxnCommand reads parts behind bars: "if KEY PROPERTY OPERATOR OPERAND", "then COMMAND", "else COMMAND", where a
// command may also be "get KEY", "get KEY must-exist", "list PREFIX limit=N" or "check guard-…". What stands before the first bar is about the
// whole command.
func parseTxnCommand(t *testing.T, text string) *storev1.Command {
	t.Helper()
	parts := strings.Split(text, " | ")
	w := parseWords(t, parts[0])
	cmd := &storev1.Command{}
	parseOnce(w, cmd)
	parseGuards(w, cmd)
	w.done()
	if cmd.GetRequestDigest() != nil {
		digest := sha256.Sum256([]byte(strings.Join(parts[1:], "|")))
		cmd.RequestDigest = digest[:]
	}
	txn := &storev1.Txn{}
	for _, part := range parts[1:] {
		kind, rest, _ := strings.Cut(strings.TrimSpace(part), " ")
		switch kind {
		case "if":
			txn.Compares = append(txn.Compares, parseCompare(t, rest))
		case "then":
			txn.ThenOps = append(txn.ThenOps, parseOp(t, rest))
		case "else":
			txn.ElseOps = append(txn.ElseOps, parseOp(t, rest))
		default:
			t.Fatalf("%s: want if, then or else", part)
		}
	}
	cmd.Kind = &storev1.Command_Txn{Txn: txn}
	return cmd
}

func parseCompare(t *testing.T, text string) *storev1.Compare {
	t.Helper()
	w := parseWords(t, text)
	defer w.done()
	guards := &storev1.Command{}
	if parseGuards(w, guards); len(guards.GetGuards()) > 0 {
		return &storev1.Compare{Operand: &storev1.Compare_Guard{Guard: guards.GetGuards()[0]}}
	}
	m := &storev1.Compare{Key: w.next()}
	property := w.next()
	operators := map[string]storev1.CompareOperator{
		"is": storev1.CompareOperator_COMPARE_OPERATOR_EQUAL, "isnt": storev1.CompareOperator_COMPARE_OPERATOR_NOT_EQUAL,
		"<": storev1.CompareOperator_COMPARE_OPERATOR_LESS, ">": storev1.CompareOperator_COMPARE_OPERATOR_GREATER,
	}
	m.Operator = operators[w.next()]
	operand := w.next()
	switch property {
	case "value":
		m.Operand = &storev1.Compare_Value{Value: []byte(operand)}
	case "mod_revision":
		m.Operand = &storev1.Compare_ModRevision{ModRevision: parseNumber(t, operand)}
	case "create_revision":
		m.Operand = &storev1.Compare_CreateRevision{CreateRevision: parseNumber(t, operand)}
	case "version":
		m.Operand = &storev1.Compare_Version{Version: parseNumber(t, operand)}
	case "flags":
		m.Operand = &storev1.Compare_Flags{Flags: parseNumber(t, operand)}
	case "holder":
		held := &storev1.Compare_HeldBySessionId{}
		if operand != "nobody" {
			held.HeldBySessionId = id(t, operand)
		}
		m.Operand = held
	}
	return m
}

func parseOp(t *testing.T, text string) *storev1.Op {
	t.Helper()
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "get":
		w := parseWords(t, rest)
		defer w.done()
		must := w.flag("must-exist")
		return &storev1.Op{Kind: &storev1.Op_Get{Get: &storev1.GetOp{Key: w.next(), MustExist: must}}}
	case "list":
		w := parseWords(t, rest)
		defer w.done()
		return &storev1.Op{Kind: &storev1.Op_List{List: &storev1.ListOp{Prefix: w.next(), Limit: uint32(w.num("limit"))}}}
	case "check":
		w := parseWords(t, rest)
		defer w.done()
		guards := &storev1.Command{}
		parseGuards(w, guards)
		return &storev1.Op{Kind: &storev1.Op_Check{Check: guards.GetGuards()[0]}}
	case "put-node", "put-service", "put-check", "get-entry", "delete-entry":
		w := parseWords(t, rest)
		defer w.done()
		return &storev1.Op{Kind: &storev1.Op_Catalog{Catalog: parseCatalogOp(w, verb)}}
	}
	switch kind := parseCommand(t, text).GetKind().(type) {
	case *storev1.Command_Put:
		return &storev1.Op{Kind: &storev1.Op_Put{Put: kind.Put}}
	case *storev1.Command_Delete:
		return &storev1.Op{Kind: &storev1.Op_Delete{Delete: kind.Delete}}
	case *storev1.Command_DeletePrefix:
		return &storev1.Op{Kind: &storev1.Op_DeletePrefix{DeletePrefix: kind.DeletePrefix}}
	case *storev1.Command_AcquireLock:
		return &storev1.Op{Kind: &storev1.Op_AcquireLock{AcquireLock: kind.AcquireLock}}
	case *storev1.Command_ReleaseLock:
		return &storev1.Op{Kind: &storev1.Op_ReleaseLock{ReleaseLock: kind.ReleaseLock}}
	default:
		t.Fatalf("%s: no operation of a transaction", text)
		return nil
	}
}
