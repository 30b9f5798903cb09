package storage_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenure-io/tenure/storage"
)

// read answers questions, each a line, from one snapshot.
func (s *script) read(lines []string) string {
	r := s.store.NewReader()
	defer func() {
		if err := r.Close(); err != nil {
			s.t.Error(err)
		}
	}()
	var b strings.Builder
	for _, line := range lines {
		if len(lines) > 1 {
			fmt.Fprintf(&b, "> %s\n", line)
		}
		text, err := question(s.t, r, line)
		if err != nil {
			text = "error: " + err.Error() + "\n"
		}
		b.WriteString(text)
	}
	return b.String()
}

// question answers one question.
func question(t *testing.T, r *storage.Reader, line string) (string, error) {
	t.Helper()
	w := parseWords(t, line)
	defer w.done()
	switch verb := w.next(); verb {
	case "get":
		return show(r.Get(w.next()))
	case "list":
		return showKeys(r, w)
	case "session":
		return show(r.Session(storage.SessionID(id(t, w.next()))))
	case "sessions":
		return showSessions(r)
	case "ended":
		return show(r.EndedSession(storage.SessionID(id(t, w.next()))))
	case "objects":
		return showObjects(r, storage.SessionID(id(t, w.next())))
	case "lock":
		return showLock(r, w.next())
	case "delays":
		return showDelays(r)
	case "waits":
		return showWaits(r)
	case "history":
		return showHistory(r, w)
	case "query-for":
		q, found, err := r.QueryFor(w.str("name"))
		return show(q.Record, found, err)
	case "applied":
		a, err := r.Applied()
		return fmt.Sprintf("index=%d term=%d revision=%d compacted=%d trimmed=%d keys=%d live_bytes=%d sessions=%d ended=%d grants_left=%d\n",
			a.Index, a.Term, a.Revision, a.CompactedRevision, a.TrimmedRevision, a.Keys, a.LiveBytes, a.Sessions,
			a.EndedSessions, a.GrantsLeft), err
	case "usage":
		u, err := r.Usage()
		return fmt.Sprintf("bytes=%d bytes_max=%d growth_bytes_max=%d full=%t\n", u.Bytes, u.BytesMax, u.GrowthBytesMax, u.Full), err
	case "members":
		return showMembers(r)
	case "limits":
		limits, err := r.Limits()
		return storage.FormatMessage(limits) + "\n", err
	default:
		t.Fatalf("%s: unknown question", line)
		return "", nil
	}
}

func show(m proto.Message, ok bool, err error) (string, error) {
	if err != nil || !ok {
		return "none\n", err
	}
	return trimBraces(storage.FormatMessage(m)) + "\n", nil
}

func showKeys(r *storage.Reader, w *words) (string, error) {
	page, more, err := r.List(storage.ListQuery{
		Prefix: w.str("prefix"), After: w.str("after"), Limit: int(w.num("limit")), SizeBytesMax: int(w.num("bytes")),
		KeysOnly: w.flag("keys"),
	})
	var b strings.Builder
	for _, k := range page {
		b.WriteString(trimBraces(storage.FormatMessage(k)) + "\n")
	}
	if more {
		b.WriteString("more\n")
	}
	if len(page) == 0 {
		b.WriteString("none\n")
	}
	return b.String(), err
}

func showSessions(r *storage.Reader) (string, error) {
	page, _, err := r.Sessions(storage.SessionID{}, 0)
	var b strings.Builder
	for _, s := range page {
		fmt.Fprintf(&b, "%s %s\n", s.ID, trimBraces(storage.FormatMessage(s.Record)))
	}
	if len(page) == 0 {
		b.WriteString("none\n")
	}
	return b.String(), err
}

func showObjects(r *storage.Reader, id storage.SessionID) (string, error) {
	o, err := r.SessionObjects(id)
	var b strings.Builder
	for _, h := range o.Holds {
		fmt.Fprintf(&b, "hold %s\n", trimBraces(storage.FormatMessage(h)))
	}
	for _, p := range o.Places {
		fmt.Fprintf(&b, "place %q %d %s\n", p.Key, p.Place, trimBraces(storage.FormatMessage(p.Record)))
	}
	for _, k := range o.EphemeralKeys {
		fmt.Fprintf(&b, "ephemeral %q\n", k)
	}
	for _, q := range o.Queries {
		fmt.Fprintf(&b, "query %s\n", q)
	}
	if b.Len() == 0 {
		return "none\n", err
	}
	return b.String(), err
}

func showLock(r *storage.Reader, key string) (string, error) {
	l, ok, err := r.Lock(key)
	if err != nil || !ok {
		return "none\n", err
	}
	var b strings.Builder
	b.WriteString(trimBraces(storage.FormatMessage(l.State)) + "\n")
	for _, p := range l.Past {
		fmt.Fprintf(&b, "past %s\n", trimBraces(storage.FormatMessage(p)))
	}
	waiters, _, err := r.Waiters(key, 0, 0)
	for _, w := range waiters {
		fmt.Fprintf(&b, "waits %d %s\n", w.Place, trimBraces(storage.FormatMessage(w.Record)))
	}
	return b.String(), err
}

func showDelays(r *storage.Reader) (string, error) {
	delays, err := r.Delays()
	var b strings.Builder
	for _, d := range delays {
		fmt.Fprintf(&b, "%q lock_index=%d fencing_token=%d delay_ms=%d\n", d.Key, d.LockIndex, d.FencingToken, d.DelayMs)
	}
	if len(delays) == 0 {
		return "none\n", err
	}
	return b.String(), err
}

func showWaits(r *storage.Reader) (string, error) {
	waits, err := r.Waits()
	var b strings.Builder
	for _, w := range waits {
		fmt.Fprintf(&b, "%q place=%d session_id=%s wait_ms=%d\n", w.Key, w.Place, w.SessionID, w.WaitMs)
	}
	if len(waits) == 0 {
		return "none\n", err
	}
	return b.String(), err
}

func showHistory(r *storage.Reader, w *words) (string, error) {
	h, err := r.History(w.num("from"), uint32(w.num("index")))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for h.Next() {
		b.WriteString(showEvent(h.Event()) + "\n")
	}
	if b.Len() == 0 {
		b.WriteString("none\n")
	}
	if err := h.Err(); err != nil {
		return "", err
	}
	return b.String(), h.Close()
}

// showMembers shows members and those that were removed.
func showMembers(r *storage.Reader) (string, error) {
	var b strings.Builder
	all, err := r.Members()
	if err != nil {
		return "", err
	}
	for _, m := range all {
		b.WriteString(trimBraces(storage.FormatMessage(m)) + "\n")
	}
	removed, err := r.RemovedMembers()
	if err != nil {
		return "", err
	}
	for _, m := range removed {
		is, err := r.IsRemoved(m.GetMember().GetId())
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "removed=%t %s\n", is, trimBraces(storage.FormatMessage(m)))
	}
	return b.String(), nil
}
