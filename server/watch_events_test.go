package server_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestEventsSayWhatAReadWouldHaveSaid checks that who only follows events knows of keys what others read.
func TestEventsSayWhatAReadWouldHaveSaid(t *testing.T) {
	m := start(t)
	m.put(t, "k", "first")
	w := m.watch(t, &tenurev1.WatchRequest{Keys: []string{"k"}, Locks: []string{"k"}, Previous: true})
	m.put(t, "k", "second")
	read, err := m.Get(t.Context(), &tenurev1.GetRequest{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if kv := w.events(1)[0].GetKv(); !proto.Equal(kv, read.GetKv()) {
		t.Errorf("the event shows %v, want %v", kv, read.GetKv())
	}
}
