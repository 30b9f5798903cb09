package layout

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// RecordFormat is the format in which records are written; no other exists yet.
const RecordFormat = 1

// Record is a message that knows the format it was written in.
type Record interface {
	proto.Message
	GetFormatVersion() uint32
}

// Encode marshals a message; equal messages give equal bytes.
func Encode(m proto.Message) ([]byte, error) {
	if b, ok := encodeByHand(m); ok {
		return b, nil
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	return b, nil
}

// Decode unmarshals a stored record into an empty one, and refuses one of a format this program does not know.
func Decode(value []byte, m Record) error {
	if err := decode(value, m); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, m.ProtoReflect().Descriptor().Name(), err)
	}
	return checkFormat(m)
}

func checkFormat(m Record) error {
	if v := m.GetFormatVersion(); v != RecordFormat {
		return fmt.Errorf("%w: %s of format %d", ErrUnknownFormat, m.ProtoReflect().Descriptor().Name(), v)
	}
	return nil
}

// decode unmarshals into an empty record.
func decode(value []byte, m Record) error {
	if decodeByHand(value, m) {
		return nil
	}
	return proto.Unmarshal(value, m) // It empties the record first.
}

// BytesField returns what a record has in its field of that number, which holds bytes or a text; it lies in value. The rest is
// stepped over.
func BytesField(value []byte, number protowire.Number) ([]byte, error) {
	for rest := value; len(rest) > 0; {
		found, kind, tag := protowire.ConsumeTag(rest)
		if tag < 0 {
			return nil, fmt.Errorf("%w: %w", ErrCorrupt, protowire.ParseError(tag))
		}
		n := protowire.ConsumeFieldValue(found, kind, rest[tag:])
		if n < 0 {
			return nil, fmt.Errorf("%w: %w", ErrCorrupt, protowire.ParseError(n))
		}
		if found == number && kind == protowire.BytesType {
			content, _ := protowire.ConsumeBytes(rest[tag:])
			return content, nil
		}
		rest = rest[tag+n:]
	}
	return nil, nil
}

// WithoutField returns a record without its field of that number, which holds bytes, and what that holds, which lies in
// value. It is for fields that may be large.
func WithoutField(value []byte, number protowire.Number) (short, content []byte, err error) {
	for rest := value; len(rest) > 0; {
		found, kind, n := protowire.ConsumeField(rest)
		if n < 0 {
			return nil, nil, fmt.Errorf("%w: %w", ErrCorrupt, protowire.ParseError(n))
		}
		if found == number && kind == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(rest)
			content, _ = protowire.ConsumeBytes(rest[tag:n])
		} else {
			short = append(short, rest[:n]...)
		}
		rest = rest[n:]
	}
	return short, content, nil
}

// AppendUint64s appends numbers in the byte order of rows.
func AppendUint64s(b []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

// CutUint64s returns the n numbers that value consists of.
func CutUint64s(value []byte, n int) ([]uint64, error) {
	if len(value) != 8*n {
		return nil, fmt.Errorf("%w: %d bytes for %d numbers", ErrCorrupt, len(value), n)
	}
	numbers := make([]uint64, n)
	for i := range numbers {
		numbers[i] = binary.BigEndian.Uint64(value[8*i:])
	}
	return numbers, nil
}

// Applied is the state's own account of itself as of one raft entry.
type Applied struct {
	// Index and Term are those of the last applied entry; zero before Bootstrap.
	Index, Term uint64
	// Revision is the store-wide revision.
	Revision uint64
	// Checksum rolls over all entries and the writes they made.
	Checksum uint64
	// ConfState is opaque to the store: what the last conf change entry carried. Nobody may change it.
	ConfState []byte
	// ClusterVersion is the version whose commands and formats are in use.
	ClusterVersion uint32
	// ClusterID names the cluster, HistoryID its line of revisions.
	ClusterID, HistoryID [16]byte
	// CompactedRevision is the last revision whose history is forgotten.
	CompactedRevision uint64
	// TrimmedRevision is the last revision whose events are off the disk too; it follows CompactedRevision.
	TrimmedRevision uint64
	// WallTimeMs is the wall clock of the newest command; for people.
	WallTimeMs int64
	// LiveBytes counts the bytes of live keys and their values, Keys the keys.
	LiveBytes, Keys uint64
	// Sessions counts live sessions, EndedSessions those that ever ended.
	Sessions, EndedSessions uint64
	// HistoryBytes counts the bytes of kept history.
	HistoryBytes uint64
	// GrantsLeft counts locks whose waiters wait for GrantWaiters, or for the end of a freeze, and keys that are to be moved.
	GrantsLeft uint64
	// EndedForgotten is the number of the first record of an ended session that is kept.
	EndedForgotten uint64
	// KeyedRequests counts the calls with an idempotency key that were ever remembered, KeyedForgotten those that are
	// not any more.
	KeyedRequests, KeyedForgotten uint64
	// TombstoneBytes counts the bytes of request windows whose session ended or was taken over.
	TombstoneBytes uint64
	// KeyedBytes counts the bytes of remembered idempotency keys with their results.
	KeyedBytes uint64
	// StoreBytes counts the bytes of all rows: keys, locks, waiters, sessions, history, what is remembered of requests.
	// The limit of the store is about them.
	StoreBytes uint64
	// Nodes, Services and Checks count the catalog, EndMarks the marks of its end list.
	Nodes, Services, Checks, EndMarks uint64
	// Queries counts prepared queries.
	Queries uint64
	// DenyRevision grows with every change that may take a right away, AuthChanges with every change of tokens, policies,
	// bindings and the mode.
	DenyRevision, AuthChanges uint64
	// AuthMode is how strictly rights are asked for.
	AuthMode storev1.AuthMode
}

// RightsState says which changes of tokens, policies, bindings and the mode are applied.
type RightsState struct {
	// DenyRevision grows with every change that may take a right away, Changes with every change of tokens, policies, bindings and the mode.
	DenyRevision, Changes uint64
	// HistoryID names the line of revisions that both belong to.
	HistoryID [16]byte
	// Mode is how strictly rights are asked for.
	Mode storev1.AuthMode
}

// Rights returns which changes of tokens, policies, bindings and the mode are applied.
func (a *Applied) Rights() RightsState {
	return RightsState{DenyRevision: a.DenyRevision, Changes: a.AuthChanges, HistoryID: a.HistoryID, Mode: a.AuthMode}
}

// Encode returns the account as its row has it.
func (a Applied) Encode() ([]byte, error) { return Encode(a.Record()) }

// Record returns the account as a record.
func (a Applied) Record() *storev1.AppliedRecord {
	return &storev1.AppliedRecord{
		FormatVersion:     RecordFormat,
		Index:             a.Index,
		Term:              a.Term,
		Revision:          a.Revision,
		Checksum:          a.Checksum,
		ConfState:         a.ConfState,
		ClusterVersion:    a.ClusterVersion,
		HistoryId:         a.HistoryID[:],
		ClusterId:         a.ClusterID[:],
		CompactedRevision: a.CompactedRevision,
		WallTimeMs:        a.WallTimeMs,
		TrimmedRevision:   a.TrimmedRevision,
		LiveBytes:         a.LiveBytes,
		Keys:              a.Keys,
		Sessions:          a.Sessions,
		HistoryBytes:      a.HistoryBytes,
		EndedSessions:     a.EndedSessions,
		GrantsLeft:        a.GrantsLeft,
		EndedForgotten:    a.EndedForgotten,
		KeyedRequests:     a.KeyedRequests,
		KeyedForgotten:    a.KeyedForgotten,
		TombstoneBytes:    a.TombstoneBytes,
		KeyedBytes:        a.KeyedBytes,
		StoreBytes:        a.StoreBytes,
		Nodes:             a.Nodes,
		Services:          a.Services,
		Checks:            a.Checks,
		EndMarks:          a.EndMarks,
		DenyRevision:      a.DenyRevision,
		AuthChanges:       a.AuthChanges,
		AuthMode:          a.AuthMode,
		Queries:           a.Queries,
	}
}

// DecodeApplied undoes Encode.
func DecodeApplied(value []byte) (Applied, error) {
	r := &storev1.AppliedRecord{}
	if err := Decode(value, r); err != nil {
		return Applied{}, err
	}
	return AppliedOf(r)
}

// AppliedOf undoes Record.
func AppliedOf(r *storev1.AppliedRecord) (Applied, error) {
	if len(r.GetClusterId()) != 16 || len(r.GetHistoryId()) != 16 {
		return Applied{}, fmt.Errorf("%w: ids of the applied record", ErrCorrupt)
	}
	return Applied{
		Index:             r.GetIndex(),
		Term:              r.GetTerm(),
		Revision:          r.GetRevision(),
		Checksum:          r.GetChecksum(),
		ConfState:         r.GetConfState(),
		ClusterVersion:    r.GetClusterVersion(),
		HistoryID:         [16]byte(r.GetHistoryId()),
		ClusterID:         [16]byte(r.GetClusterId()),
		CompactedRevision: r.GetCompactedRevision(),
		WallTimeMs:        r.GetWallTimeMs(),
		TrimmedRevision:   r.GetTrimmedRevision(),
		LiveBytes:         r.GetLiveBytes(),
		Keys:              r.GetKeys(),
		Sessions:          r.GetSessions(),
		HistoryBytes:      r.GetHistoryBytes(),
		EndedSessions:     r.GetEndedSessions(),
		GrantsLeft:        r.GetGrantsLeft(),
		EndedForgotten:    r.GetEndedForgotten(),
		KeyedRequests:     r.GetKeyedRequests(),
		KeyedForgotten:    r.GetKeyedForgotten(),
		TombstoneBytes:    r.GetTombstoneBytes(),
		KeyedBytes:        r.GetKeyedBytes(),
		StoreBytes:        r.GetStoreBytes(),
		Nodes:             r.GetNodes(),
		Services:          r.GetServices(),
		Checks:            r.GetChecks(),
		EndMarks:          r.GetEndMarks(),
		DenyRevision:      r.GetDenyRevision(),
		AuthChanges:       r.GetAuthChanges(),
		AuthMode:          r.GetAuthMode(),
		Queries:           r.GetQueries(),
	}, nil
}

// Excess reports whether the state remembers more than limits say, as it does after they were lowered. Each Compact forgets some of
// it. Under an older cluster version it does not.
func (a Applied) Excess(limits *storev1.Limits) bool {
	return a.ClusterVersion >= Version2 && (a.TombstoneBytes > limits.GetTombstoneBytesMax() ||
		a.EndedSessions-a.EndedForgotten > uint64(limits.GetEndedSessionsMax()) || a.KeyedOver(limits))
}

// KeyedOver reports whether more keyed calls are remembered than the limits say.
func (a Applied) KeyedOver(limits *storev1.Limits) bool {
	kept := a.KeyedRequests - a.KeyedForgotten
	return kept > 0 && (kept > uint64(limits.GetIdempotencyKeysMax()) || a.KeyedBytes > limits.GetIdempotencyBytesMax())
}
