package storage_test

import (
	"strconv"
	"strings"
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// parseCommand reads one command of a script.
func parseCommand(t *testing.T, line string) *storev1.Command {
	t.Helper()
	if ops, isTxn := strings.CutPrefix(line, "txn"); isTxn {
		return parseTxnCommand(t, ops)
	}
	w := parseWords(t, line)
	cmd := &storev1.Command{WallTimeMs: int64(w.num("wall"))}
	if w.has("ns") {
		cmd.NamespaceId = w.num("ns")
	}
	parseOnce(w, cmd)
	parseGuards(w, cmd)
	switch verb := w.next(); verb {
	case "session":
		cmd.Kind = &storev1.Command_CreateSession{CreateSession: parseSession(w)}
	case "destroy":
		cmd.Kind = &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
			Session: parseRef(t, w.next()), Clean: w.flag("clean"), Force: w.flag("force"),
			Reason: w.str("reason"), By: w.str("by"),
		}}
	case "expire":
		e := &storev1.ExpireSessions{Term: w.num("term")}
		for len(w.pos) > 0 {
			e.SessionIds = append(e.SessionIds, id(t, w.next()))
		}
		cmd.Kind = &storev1.Command_ExpireSessions{ExpireSessions: e}
	case "end-delays":
		e := &storev1.EndDelays{Term: w.num("term")}
		for len(w.pos) > 0 {
			e.Delays = append(e.Delays, parseDelay(t, w.next()))
		}
		cmd.Kind = &storev1.Command_EndDelays{EndDelays: e}
	case "takeover":
		cmd.Kind = &storev1.Command_TakeOverSession{TakeOverSession: &storev1.TakeOverSession{
			SessionId: id(t, w.next()), ReplacesEpoch: w.num("epoch"), InstanceId: []byte(w.str("instance")),
		}}
	case "end-freeze":
		cmd.Kind = &storev1.Command_EndFreeze{EndFreeze: &storev1.EndFreeze{Term: w.num("term"), Reason: w.str("reason")}}
	case "set-limits":
		cmd.Kind = &storev1.Command_SetLimits{SetLimits: &storev1.SetLimits{Limits: parseLimits(w), Force: w.flag("force")}}
	case "set-cluster-version":
		cmd.Kind = &storev1.Command_SetClusterVersion{SetClusterVersion: &storev1.SetClusterVersion{
			Version: uint32(parseNumber(t, w.next())),
		}}
	case "grant-waiters":
		cmd.Kind = &storev1.Command_GrantWaiters{GrantWaiters: &storev1.GrantWaiters{Term: w.num("term")}}
	case "compact":
		cmd.Kind = &storev1.Command_Compact{Compact: &storev1.Compact{
			Revision: parseNumber(t, w.next()), EventsMax: uint32(w.num("events")),
		}}
	default:
		if !parseCatalogCommand(w, verb, cmd) {
			t.Fatalf("%s: unknown command %q", line, verb)
		}
	}
	w.done()
	return cmd
}

// parseKeyCommand reads a command about one key.
func parseKeyCommand(w *words, verb string, cmd *storev1.Command) bool {
	w.t.Helper()
	switch verb {
	case "put":
		cmd.Kind = &storev1.Command_Put{Put: parsePut(w)}
	case "delete":
		cmd.Kind = &storev1.Command_Delete{Delete: parseDelete(w)}
	case "delete-prefix":
		drops := w.flag("drop-holds")
		cmd.Kind = &storev1.Command_DeletePrefix{DeletePrefix: &storev1.DeletePrefix{
			Prefix: w.next(), DropHolds: drops, KeysMax: uint32(w.num("keys-max")),
		}}
	default:
		return parseLockCommand(w, verb, cmd)
	}
	return true
}

func parseSession(w *words) *storev1.CreateSession {
	w.t.Helper()
	s := &storev1.CreateSession{
		Name: w.str("name"), Node: w.str("node"), TtlMs: w.ms("ttl"), LockDelayMs: w.ms("lock-delay"),
		Behavior:     storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
		SecretSha256: []byte(w.str("secret-hash")), PeerAddress: w.str("from"), InstanceId: []byte(w.str("instance")),
	}
	switch w.str("behavior") {
	case "", "release":
	case "delete":
		s.Behavior = storev1.SessionBehavior_SESSION_BEHAVIOR_DELETE
	case "none":
		s.Behavior = storev1.SessionBehavior_SESSION_BEHAVIOR_UNSPECIFIED
	default:
		w.t.Fatalf("%s: unknown behavior", w.line)
	}
	s.Checks = parseChecks(w)
	s.SessionId = id(w.t, w.next())
	return s
}

func parsePut(w *words) *storev1.Put {
	w.t.Helper()
	p := &storev1.Put{
		Flags: w.num("flags"), Acquire: w.ref("acquire"), Release: w.ref("release"), Force: w.flag("force"),
		Reason: w.str("reason"), BindSession: w.ref("bind"), Sequential: w.flag("sequential"),
	}
	if w.has("if-revision") {
		p.IfRevision = new(w.num("if-revision"))
	}
	p.Key = w.next()
	if len(w.pos) > 0 {
		p.Value = []byte(w.next())
	}
	return p
}

func parseDelete(w *words) *storev1.Delete {
	w.t.Helper()
	drops := w.flag("drop-holds")
	d := &storev1.Delete{Key: w.next(), DropHolds: drops}
	if w.has("if-revision") {
		d.IfRevision = new(w.num("if-revision"))
	}
	return d
}

// parseDelay reads key@lock_index@fencing_token.
func parseDelay(t *testing.T, text string) *storev1.DelayRef {
	t.Helper()
	parts := strings.Split(text, "@")
	if len(parts) != 3 {
		t.Fatalf("%s: want key@lock_index@fencing_token", text)
	}
	return &storev1.DelayRef{
		Key: parts[0], LockIndex: parseNumber(t, parts[1]), FencingToken: parseNumber(t, parts[2]),
	}
}

func parseNumber(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
