package server_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestAFullStoreRefusesGrowth lowers the limit of the store below what its keys take, so that forgetting history does not
// help: growth is refused with its own reason and
// told in the status, deletes and the ends of sessions go on, and it clears by itself.
func TestAFullStoreRefusesGrowth(t *testing.T) {
	m := start(t)
	session := m.openSession(t, "alice")
	put := func(key string) error {
		_, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: key, Content: text(strings.Repeat("x", 10_000))})
		return err
	}
	for _, key := range []string{"a", "b", "d", "e"} {
		if err := put(key); err != nil {
			t.Fatal(err)
		}
	}
	limit := uint64(30_000)
	set, err := m.SetLimits(t.Context(), &tenurev1.SetLimitsRequest{Limits: &tenurev1.Limits{StoreBytesMax: &limit}})
	if err != nil || set.GetLimits().GetStoreBytesMax() != limit || set.GetLimits().GetHistoryBytesMax() != limit/4 {
		t.Fatalf("set limits: got %v, %v, want the limit, and a quarter of it for history", set.GetLimits(), err)
	}
	wantError(t, put("c"), codes.ResourceExhausted, "QUOTA_EXCEEDED")
	_, err = m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{})
	wantError(t, err, codes.ResourceExhausted, "QUOTA_EXCEEDED")
	status, err := m.GetStatus(t.Context(), &tenurev1.GetStatusRequest{})
	if err != nil || status.GetStoreBytes() < limit || status.GetStoreBytesMax() != limit || !hasProblem(status, "store-full") {
		t.Errorf("status: got %v, %v, want the problem store-full", status, err)
	}
	for _, key := range []string{"a", "b"} {
		if _, err = m.Delete(t.Context(), &tenurev1.DeleteRequest{Key: key}); err != nil {
			t.Errorf("delete in a full store: %v", err)
		}
	}
	if _, err = m.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: session}); err != nil {
		t.Errorf("end of a session in a full store: %v", err)
	}
	now, err := m.GetLimits(t.Context(), &tenurev1.GetLimitsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = m.Compact(t.Context(), &tenurev1.CompactRequest{Revision: now.GetHeader().GetRevision()}); err != nil {
		t.Fatal(err)
	}
	if err = put("c"); err != nil {
		t.Errorf("after compaction: %v", err)
	}
}

// TestACommandBeyondItsBudgetIsTooLarge deletes more bytes by prefix than a command may read and write.
func TestACommandBeyondItsBudgetIsTooLarge(t *testing.T) {
	m := start(t)
	most, low := uint64(4<<20), uint64(1000)
	_, err := m.SetLimits(t.Context(), &tenurev1.SetLimitsRequest{Limits: &tenurev1.Limits{CommandBytesMax: &low}})
	wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	set, err := m.SetLimits(t.Context(), &tenurev1.SetLimitsRequest{Limits: &tenurev1.Limits{CommandBytesMax: &most}})
	if err != nil || set.GetLimits().GetCommandBytesMax() != most || set.GetLimits().GetCommandRowsMax() != 100_000 {
		t.Fatalf("set limits: got %v, %v, want 4 MiB and 100 000 rows", set.GetLimits(), err)
	}
	for i := range 9 {
		if _, err = m.Put(t.Context(), &tenurev1.PutRequest{
			Key: fmt.Sprint("large/", i), Content: text(strings.Repeat("x", 500_000)),
		}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = m.DeletePrefix(t.Context(), &tenurev1.DeletePrefixRequest{Prefix: "large/"})
	wantError(t, err, codes.ResourceExhausted, "TOO_LARGE")
	info := infoOf(err).GetMetadata()
	amount, amountErr := strconv.ParseUint(info["amount"], 10, 64)
	if info["limit"] != "command_bytes_max" || info["limit_value"] != "4194304" || amountErr != nil || amount <= most ||
		info["applied"] != "no" {
		t.Errorf("got %v, want the limit and how much it was", info)
	}
	listed, err := m.List(t.Context(), &tenurev1.ListRequest{Prefix: "large/", KeysOnly: true})
	if err != nil || len(listed.GetKvs()) != 9 {
		t.Errorf("got %v, %v, want that all keys are there", listed, err)
	}
}

func hasProblem(s *tenurev1.GetStatusResponse, name string) bool {
	return slices.ContainsFunc(s.GetProblems(), func(p *tenurev1.StatusProblem) bool { return p.GetName() == name })
}
