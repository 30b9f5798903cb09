package audit

import (
	"bytes"
	"encoding/json"
	"time"
)

// Decision says what was decided about a call.
type Decision string

// Decisions.
const (
	Allowed    Decision = "allowed"
	Refused    Decision = "denied"
	Asked      Decision = "asked_for_nonce" // the call may come again with the nonce that was written for it
	WouldDeny  Decision = "would_deny"
	ByItself   Decision = "" // what no call asked for
	viaLeader           = "leader"
	handshakes          = "HANDSHAKE_"
)

// Line is a line of the log, without what the log itself adds. Empty fields are left out. It is small, and keeps nothing of a request: many may wait to be
// written.
type Line struct {
	Time       time.Time
	RequestID  string
	TraceID    string
	Principal  string
	Credential string
	Address    string
	Via        string
	Method     string
	Needs      []string // at most needsMax
	NeedsCount int      // how many there are
	Session    string
	Target     *Target
	Event      string
	Decision   Decision
	Reason     string
	Applied    string
	Revision   uint64
	Took       time.Duration
}

// written is a line as it is written.
type written struct {
	Time       string   `json:"time"`
	Seq        uint64   `json:"seq"`
	Member     string   `json:"member"`
	RequestID  string   `json:"request_id,omitempty"`
	TraceID    string   `json:"trace_id,omitempty"`
	Principal  string   `json:"principal,omitempty"`
	Credential string   `json:"credential,omitempty"`
	Address    string   `json:"address,omitempty"`
	Via        string   `json:"via,omitempty"`
	Method     string   `json:"method,omitempty"`
	Event      string   `json:"event,omitempty"`
	Needs      []string `json:"needs,omitempty"`
	NeedsCount int      `json:"needs_count,omitempty"`
	Session    string   `json:"session,omitempty"`
	Target     *Target  `json:"target,omitempty"`
	Decision   Decision `json:"decision,omitempty"`
	Reason     string   `json:"reason,omitempty"`
	Applied    string   `json:"applied,omitempty"`
	Revision   uint64   `json:"revision,omitempty"`
	TookUs     int64    `json:"took_us,omitempty"`
}

// numbered is a line with its number.
type numbered struct {
	Line
	seq uint64
}

// append adds a line of the log of a member to a buffer.
func (l *numbered) append(b *bytes.Buffer, member string) error {
	w := written{
		Time: l.Time.UTC().Format(time.RFC3339Nano), Seq: l.seq, Member: member, RequestID: l.RequestID, TraceID: l.TraceID,
		Principal: l.Principal, Credential: l.Credential, Address: l.Address, Via: l.Via, Method: l.Method, Event: l.Event,
		Needs: l.Needs, Session: l.Session, Target: l.Target, Decision: l.Decision, Reason: l.Reason, Applied: l.Applied, Revision: l.Revision,
		TookUs: l.Took.Microseconds(),
	}
	if l.NeedsCount > len(l.Needs) {
		w.NeedsCount = l.NeedsCount
	}
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(w)
}
