package sim

import (
	"fmt"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// What a failure says of earlier attempts.
const (
	appliedYes = 1
	appliedNo  = 2
)

// requestTruth is what the log says of requests that may be sent again: each is done once, and every attempt gets the first result.
type requestTruth struct {
	w     *World
	index uint64 // newest entry that was looked at
	first map[string]resultAt
	no    map[string]uint64 // entry that said of a request that it was never applied
	done  map[string]uint64 // the number below which the requests of an epoch are done
}

// resultAt is a result, and the entry that had it.
type resultAt struct {
	result    *storev1.Result
	index     uint64
	principal string
}

func newRequestTruth(w *World) *requestTruth {
	return &requestTruth{w: w, first: map[string]resultAt{}, no: map[string]uint64{}, done: map[string]uint64{}}
}

// requestOf names the request of a command; empty: it must not be sent again. No two clients use one idempotency key.
func requestOf(cmd *storev1.Command) string {
	switch id := cmd.GetRequestId(); {
	case id != nil:
		return fmt.Sprintf("%s/%d", epochOf(id), id.GetSequence())
	case len(cmd.GetIdempotencyKey()) > 0:
		return "key " + string(cmd.GetIdempotencyKey())
	default:
		return ""
	}
}

// epochOf names an epoch of a session.
func epochOf(id *storev1.RequestID) string {
	return fmt.Sprintf("%x/%d", id.GetSessionId(), id.GetEpoch())
}

// applied looks at entries that a member has applied, if it is the first.
func (t *requestTruth) applied(work []*raftpb.Message, outcomes []storage.EntryOutcome) {
	t.index = t.w.eachCommand(t.index, work, outcomes, func(index uint64, cmd *storev1.Command, result *storev1.Result) {
		if request := requestOf(cmd); request != "" {
			t.attempt(index, request, cmd, result)
		}
	})
}

// attempt takes an attempt in the log.
func (t *requestTruth) attempt(index uint64, request string, cmd *storev1.Command, result *storev1.Result) {
	first, ran := t.first[request]
	switch {
	case !runs(result):
		t.refused(index, request, cmd, result.GetFailure())
	case ran && !proto.Equal(first.result, result):
		t.w.violated("requests", "entry %d is request %s of %q again, whose result in entry %d, of %q, is %v, and has %v",
			index, request, cmd.GetPrincipal(), first.index, first.principal, first.result, result)
	case ran:
		t.w.floors.RetriesInLog++
		if cmd.GetRequestId() == nil {
			t.w.floors.KeyedRetries++
		}
	case result.GetFailure() == nil && t.no[request] > 0:
		t.w.violated("requests", "entry %d applies request %s, of which entry %d said that it was not applied", index, request, t.no[request])
	default:
		t.first[request] = resultAt{result, index, cmd.GetPrincipal()}
	}
	if id := cmd.GetRequestId(); id != nil {
		t.done[epochOf(id)] = max(t.done[epochOf(id)], id.GetDoneBelow())
	}
}

// runs reports whether a result is that of a request whose turn came: the others are refused before, and are not remembered.
func runs(result *storev1.Result) bool {
	switch result.GetFailure().GetReason() {
	case storev1.FailureReason_FAILURE_REASON_SESSION_EXPIRED, storev1.FailureReason_FAILURE_REASON_SESSION_SUPERSEDED,
		storev1.FailureReason_FAILURE_REASON_SESSION_NOT_FOUND, storev1.FailureReason_FAILURE_REASON_REQUEST_ID_DONE,
		storev1.FailureReason_FAILURE_REASON_REQUEST_ID_REUSED, storev1.FailureReason_FAILURE_REASON_REQUEST_WINDOW_FULL,
		storev1.FailureReason_FAILURE_REASON_DENY_REVISION_OLD, storev1.FailureReason_FAILURE_REASON_STORE_FULL:
		return false
	default:
		return true
	}
}

// refused takes an attempt that was refused before its turn. What it says of earlier attempts must be so.
func (t *requestTruth) refused(index uint64, request string, cmd *storev1.Command, f *storev1.Failure) {
	first, ran := t.first[request]
	succeeded := ran && first.result.GetFailure() == nil
	switch reason := f.GetReason(); {
	case reason == storev1.FailureReason_FAILURE_REASON_REQUEST_ID_REUSED:
		t.w.violated("requests", "entry %d: request %s is said to be another one than before, and is not", index, request)
	case reason == storev1.FailureReason_FAILURE_REASON_REQUEST_WINDOW_FULL && ran:
		t.w.violated("requests", "entry %d: there is no room for request %s, which was answered in entry %d", index, request, first.index)
	case reason == storev1.FailureReason_FAILURE_REASON_REQUEST_ID_DONE:
		if id := cmd.GetRequestId(); id.GetSequence() >= t.done[epochOf(id)] {
			t.w.violated("requests", "entry %d: request %s is said to be done; all below %d are", index, request, t.done[epochOf(id)])
		}
	case f.GetApplied() == appliedYes && !succeeded:
		t.w.violated("requests", "entry %d says that request %s was applied, and it was not", index, request)
	case f.GetApplied() == appliedNo && succeeded:
		t.w.violated("requests", "entry %d says that request %s was not applied, and entry %d did", index, request, first.index)
	case f.GetApplied() == appliedNo:
		t.w.floors.NotApplied++
		t.no[request] = index
	}
}

// told takes what a client is told about a request, by any attempt: the log says so.
func (t *requestTruth) told(op int, request string, result *storev1.Result) {
	if request == "" || result == nil {
		return
	}
	first, ran := t.first[request]
	switch {
	case runs(result) && !ran:
		t.w.violated("requests", "op %d is answered with %v, and no entry has its request %s", op, result, request)
	case runs(result) && !proto.Equal(first.result, result):
		t.w.violated("requests", "op %d is answered with %v, and entry %d has %v", op, result, first.index, first.result)
	case result.GetFailure().GetApplied() == appliedNo && t.no[request] == 0:
		t.w.violated("requests", "op %d is told that its request %s was not applied, and no entry says so", op, request)
	}
}
