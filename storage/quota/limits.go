package quota

import (
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
)

const (
	// commandRowsMax is how many rows a command with a budget may read and write: enough for a delete by prefix of as many
	// keys as there may be, also of ephemeral ones.
	commandRowsMax = 100_000
	// commandBytesMax is how many bytes those rows may have.
	commandBytesMax = 16 << 20
	// sessionObjectsMax is the highest limit of the objects of a session.
	sessionObjectsMax = 4096
)

// HasCommandBudget reports whether commands have a budget under a cluster version. Older programs do not know its limits.
func HasCommandBudget(version uint32) bool { return version >= layout.Version2 }

// Default returns the limits of cluster version 1, where nothing else was set.
func Default() *storev1.Limits {
	return &storev1.Limits{
		WaitersMax:            proto.Uint32(65_536),
		HoldersMax:            proto.Uint32(16_384),
		SessionObjectsMax:     proto.Uint32(4_096),
		EndedSessionsMax:      proto.Uint32(10_000),
		RequestWindowMax:      proto.Uint32(1_024),
		RequestWindowBytesMax: proto.Uint64(1 << 20),
		IdempotencyKeysMax:    proto.Uint32(100_000),
		TombstoneBytesMax:     proto.Uint64(256 << 20),
		HistoryRevisions:      proto.Uint64(1_000_000),
		HistoryMs:             proto.Int64(600_000),
		HistoryBytesMax:       proto.Uint64(2 << 30),
		SessionsMax:           proto.Uint64(1_000_000),
		StoreBytesMax:         proto.Uint64(8 << 30),
		IdempotencyBytesMax:   proto.Uint64(256 << 20),
		CommandRowsMax:        proto.Uint32(commandRowsMax),
		CommandBytesMax:       proto.Uint64(commandBytesMax),
	}
}

// InForce returns the limits in force where some were set.
func InForce(set *storev1.Limits) *storev1.Limits {
	limits := Default()
	proto.Merge(limits, set)
	boundParts(limits)
	return limits
}

// The parts of the store's limit. What is left above GrowthBytesMax is for what goes on when the store is full:
// deletes, releases and the ends of sessions, which write history before they free anything.
const (
	// reservePart is the part of the limit that growth must leave free: a twentieth.
	reservePart = 20
	// historyPart is the most that history may take of it, so that a full store does not stay full of the past.
	historyPart = 4
	// requestPart is the most that tombstones, and that remembered idempotency keys, may take of it.
	requestPart = 32
)

// GrowthBytesMax returns how many bytes the store may have and still grow.
func GrowthBytesMax(limits *storev1.Limits) uint64 {
	return limits.GetStoreBytesMax() - limits.GetStoreBytesMax()/reservePart
}

// boundParts keeps limits of bytes within their part of the whole store's.
func boundParts(limits *storev1.Limits) {
	whole := limits.GetStoreBytesMax()
	*limits.HistoryBytesMax = min(limits.GetHistoryBytesMax(), max(1, whole/historyPart))
	*limits.TombstoneBytesMax = min(limits.GetTombstoneBytesMax(), max(1, whole/requestPart))
	*limits.IdempotencyBytesMax = min(limits.GetIdempotencyBytesMax(), max(1, whole/requestPart))
}
