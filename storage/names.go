package storage

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/auth"
	"github.com/tenure-io/tenure/storage/catalog"
	"github.com/tenure-io/tenure/storage/effects"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/machine"
	"github.com/tenure-io/tenure/storage/members"
	"github.com/tenure-io/tenure/storage/records"
)

// SessionID names a session; 16 bytes drawn at random, shown as the text of a UUID.
type SessionID = layout.SessionID

// Applied is the state's own account of itself as of one raft entry.
type Applied = layout.Applied

// Entry is one committed raft entry.
type Entry = layout.Entry

// What a Reader returns of locks, sessions and queues.
type (
	// LockInfo is a lock as it is, with why its last holders are none any more.
	LockInfo = records.LockInfo
	// WaiterEntry is one place in a queue. Its record comes without the value that a grant writes.
	WaiterEntry = records.WaiterEntry
	// SessionEntry is one session of a list.
	SessionEntry = records.SessionEntry
	// SessionObjects is what a live session has.
	SessionObjects = records.SessionObjects
	// Delay is a hold that was lost and still counts.
	Delay = records.Delay
	// Wait is a place whose wait has a time-out.
	Wait = records.Wait
)

// What a Reader returns of the catalog.
type (
	// NodeEntry is a node.
	NodeEntry = records.NodeEntry
	// EntryAt is where a service or a check stands among all.
	EntryAt = records.EntryAt
	// EndMark says when and why a session ended whose end is not carried out yet.
	EndMark = records.EndMark
)

// QueryID names a prepared query.
type QueryID = layout.QueryID

// QueryEntry is a prepared query.
type QueryEntry = records.QueryEntry

// KnowsQueries reports whether a cluster version has prepared queries.
func KnowsQueries(version uint32) bool { return version >= layout.Version3 }

// KnowsCatalog reports whether a cluster version has the catalog. Older programs do not know its commands, nor what a session is
// bound to.
func KnowsCatalog(version uint32) bool { return version >= layout.Version2 }

// KnowsDoubt reports whether, in a cluster version, the pool can say that a machine which is in doubt since a restore is there under another id.
func KnowsDoubt(version uint32) bool { return version >= layout.Version3 }

// MayTakeAway reports whether a change of rights may take one away at any state. A nil change does not.
func MayTakeAway(change *storev1.ChangeAuth) bool { return auth.MayTakeAway(change) }

// AdminPolicy is the name of the policy that is built in: it has all rights.
const AdminPolicy = auth.AdminPolicy

// PoliciesOfMax is how many policies one token or binding names.
const PoliciesOfMax = auth.PoliciesOfMax

// TokensMax is how many tokens there are at most.
const TokensMax = auth.TokensMax

// TokensUsedMax is how many tokens one command says to have been used.
const TokensUsedMax = auth.UsedMax

// DayOf returns the day of an instant in milliseconds since the Unix epoch, in days since then, UTC.
func DayOf(wallMs int64) uint32 { return auth.Day(wallMs) }

// What providers of JSON Web Tokens may have.
const (
	ProviderIssuerBytesMax   = auth.IssuerBytesMax
	ProviderAudiencesMax     = auth.AudiencesMax
	ProviderAudienceBytesMax = auth.AudienceBytesMax
	ProviderJWKSBytesMax     = auth.JWKSBytesMax
	ProviderURLBytesMax      = auth.URLBytesMax
	ProviderCABytesMax       = auth.CABytesMax
)

// IsProviderName reports whether a text can name a provider of JSON Web Tokens.
func IsProviderName(s string) bool { return auth.IsProviderName(s) }

// JWTPrincipal returns the principal of a provider's caller.
func JWTPrincipal(provider, subject string) string { return auth.JWTPrincipal(provider, subject) }

// IsJWTPrincipal reports whether a text is such a principal, or begins one.
func IsJWTPrincipal(s string) bool { return auth.IsJWTPrincipal(s) }

// IsAuthName reports whether a text can name a policy, a token or a binding.
func IsAuthName(s string) bool { return auth.IsName(s) }

// NodeKey returns the name of a node in lower case, by which nodes are ordered and compared.
func NodeKey(name string) string { return catalog.NodeKey(name) }

// Outcome is what a batch of entries did.
type Outcome = machine.Outcome

// EntryOutcome is what one entry did.
type EntryOutcome = machine.EntryOutcome

// EncodeEnvelope marshals an envelope for the log in the present format. It refuses what no member could decode.
func EncodeEnvelope(env *storev1.Envelope) ([]byte, error) { return layout.EncodeEnvelope(env) }

// EncodeCommand marshals a command for an envelope. It refuses with ErrUnknownFormat what DecodeEnvelope would refuse, so
// that nothing is proposed that no member could apply.
func EncodeCommand(cmd *storev1.Command) ([]byte, error) { return layout.EncodeCommand(cmd) }

// DecodeEnvelope unmarshals an envelope. Anything in it that this program does not know, a format, a command kind, a
// field or an enum value, is ErrUnknownFormat: guessing would make members differ.
func DecodeEnvelope(data []byte) (*storev1.Envelope, error) { return layout.DecodeEnvelope(data) }

// ReadsOnly reports whether no operation of a transaction can change anything, whichever of its lists runs. Reader.Txn
// answers such a transaction.
func ReadsOnly(t *storev1.Txn) bool { return effects.ReadsOnly(t) }

// JoinToken is one join token, as the state has it. The token itself is nowhere.
type JoinToken = members.JoinToken

// CheckAddress refuses what others cannot connect to. The error does not repeat the address.
func CheckAddress(address string) error { return members.CheckAddress(address) }

// CheckJoiner refuses a description with which no member can join. Its addresses are those that it advertises; only the one
// for other members is required.
func CheckJoiner(m *storev1.Member) error { return members.CheckJoiner(m) }

// ParseSessionID reads exactly what SessionID.String writes, in either case of letters; anything else is ErrSessionID.
func ParseSessionID(text string) (SessionID, error) { return layout.ParseSessionID(text) }

// SessionIDOf is ParseSessionID without an error, which takes far less time if the text is not an id.
func SessionIDOf(text string) (SessionID, bool) { return layout.SessionIDOf(text) }

// SessionIDFromBytes returns the id that b holds; anything but 16 bytes is ErrSessionID.
func SessionIDFromBytes(b []byte) (SessionID, error) { return layout.SessionIDFromBytes(b) }

// IsOutdated reports whether a command did nothing because rights were taken away since it was authorised, or something else is under an id than was
// found: it may be decided about again. The state machine did not look whether it knows an earlier attempt of the same request.
func IsOutdated(r *storev1.Result) bool {
	return r.GetFailure().GetReason() == storev1.FailureReason_FAILURE_REASON_DENY_REVISION_OLD
}
