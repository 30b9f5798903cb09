package tenure_test

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// fakeKeys are the keys of a fakeCluster, whose mu guards them, and their watches.
type fakeKeys struct {
	values  map[string]*tenurev1.KeyValue
	log     []*tenurev1.Event
	moved   chan struct{} // Closed and replaced when something changed.
	streams int           // How many watches there ever were.
	// refuse ends all watches, and refuses new ones, unless it is zero.
	refuse tenurev1.ErrorReason
	// New watches begin when this opens.
	lateWatches gate
}

func newFakeKeys() fakeKeys {
	return fakeKeys{values: map[string]*tenurev1.KeyValue{}, moved: make(chan struct{})}
}

// move wakes the watches. Call it under mu.
func (k *fakeKeys) move() {
	close(k.moved)
	k.moved = make(chan struct{})
}

// put writes a key. Call it under mu.
func (f *fakeCluster) put(r *tenurev1.PutRequest) (*tenurev1.KeyValue, error) {
	k := &f.keys
	before := k.values[r.GetKey()]
	if r.IfRevision != nil && before.GetModRevision() != r.GetIfRevision() {
		return nil, refusal(codes.FailedPrecondition, tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED, "no")
	}
	f.revision++
	kv := &tenurev1.KeyValue{Key: r.GetKey(), Value: r.GetValue(), ModRevision: f.revision, BoundSessionId: r.GetBindSession()}
	k.values[r.GetKey()] = kv
	k.log = append(k.log, &tenurev1.Event{Type: tenurev1.EventType_EVENT_TYPE_PUT, Key: r.GetKey(), Kv: kv, Revision: f.revision})
	k.move()
	return kv, nil
}

// Delete deletes a key.
func (m *fakeMember) Delete(_ context.Context, r *tenurev1.DeleteRequest) (*tenurev1.DeleteResponse, error) {
	f := m.cluster
	f.mu.Lock()
	defer f.mu.Unlock()
	k := &f.keys
	before := k.values[r.GetKey()]
	if r.IfRevision != nil && before.GetModRevision() != r.GetIfRevision() {
		return nil, refusal(codes.FailedPrecondition, tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED, "no")
	}
	if before != nil {
		f.revision++
		delete(k.values, r.GetKey())
		k.log = append(k.log, &tenurev1.Event{Type: tenurev1.EventType_EVENT_TYPE_DELETED, Key: r.GetKey(), Revision: f.revision})
		k.move()
	}
	return &tenurev1.DeleteResponse{Header: f.header(), Deleted: before != nil}, nil
}

// Watch tells the present state if asked to, and then what changes.
func (m *fakeMember) Watch(r *tenurev1.WatchRequest, stream grpc.ServerStreamingServer[tenurev1.WatchResponse]) error {
	f := m.cluster
	f.mu.Lock()
	f.keys.streams++
	f.mu.Unlock()
	f.gated(&f.keys.lateWatches).pass()
	next, _ := strconv.Atoi(r.GetResumeToken()) // Without one it is none.
	for initial := r.GetInitial(); ; initial = false {
		message, at, moved, err := f.watched(r, next, initial)
		if err != nil {
			return err
		}
		next = at
		if message != nil {
			message.ResumeToken = strconv.Itoa(next)
			if err := stream.Send(message); err != nil {
				return err
			}
		}
		select {
		case <-moved:
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// watched returns what a watch tells next, if there is anything, where it goes on, and when.
func (f *fakeCluster) watched(
	r *tenurev1.WatchRequest, from int, initial bool,
) (message *tenurev1.WatchResponse, next int, moved <-chan struct{}, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := &f.keys
	if k.refuse != 0 {
		return nil, 0, nil, refusal(codes.OutOfRange, k.refuse, "no")
	}
	selected := func(key string) bool {
		return slices.Contains(r.GetKeys(), key) ||
			slices.ContainsFunc(r.GetPrefixes(), func(prefix string) bool { return strings.HasPrefix(key, prefix) })
	}
	next, moved = len(k.log), k.moved
	if initial {
		part := &tenurev1.WatchInitial{Complete: true}
		for key, kv := range k.values {
			if selected(key) {
				part.Kvs = append(part.Kvs, kv)
			}
		}
		return &tenurev1.WatchResponse{Header: f.header(), Message: &tenurev1.WatchResponse_Initial{Initial: part}}, next, moved, nil
	}
	events := slices.DeleteFunc(slices.Clone(k.log[from:]), func(e *tenurev1.Event) bool { return !selected(e.GetKey()) })
	if len(events) > 0 {
		message = &tenurev1.WatchResponse{
			Header: f.header(), Message: &tenurev1.WatchResponse_Events{Events: &tenurev1.WatchEvents{Events: events}},
		}
	}
	return message, next, moved, nil
}

// refuseWatches ends all watches, and refuses new ones until another reason, or zero for none, is given.
func (f *fakeCluster) refuseWatches(reason tenurev1.ErrorReason) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keys.refuse = reason
	f.keys.move()
}

// keysLeft returns the keys that there are, in order.
func (f *fakeCluster) keysLeft() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var keys []string
	for key := range f.keys.values {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
