package server_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/storage"
)

// TestAFullStoreRefusesGrowth lowers the limit of the store below what its keys take, which needs force, so that forgetting history
// does not help: growth is refused with its own reason and told in the status, deletes and the ends of sessions go on, and it clears
// by itself.
func TestAFullStoreRefusesGrowth(t *testing.T) {
	m := start(t)
	session := m.openSession(t, "alice")
	put := func(key string) error {
		_, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: key, Content: text(strings.Repeat("x", 512<<10))})
		return err
	}
	for _, key := range []string{"a", "b"} {
		if err := put(key); err != nil {
			t.Fatal(err)
		}
	}
	limit := uint64(1 << 20)
	lower := &tenurev1.SetLimitsRequest{Limits: &tenurev1.Limits{StoreBytesMax: &limit}}
	_, err := m.SetLimits(t.Context(), lower)
	wantError(t, err, codes.FailedPrecondition, "LIMIT_IN_USE")
	info := infoOf(err).GetMetadata()
	amount, amountErr := strconv.ParseUint(info["amount"], 10, 64)
	if info["limit"] != "store_bytes_max" || info["limit_value"] != "1048576" || amountErr != nil || amount <= limit {
		t.Errorf("got %v, want the limit and how much is in use", info)
	}
	if text := status.Convert(err).Message(); !strings.Contains(text, info["amount"]) || !strings.Contains(text, "force") {
		t.Errorf("got %q, want that it says what is in use, and what force does", text)
	}
	lower.Force = true
	set, err := m.SetLimits(t.Context(), lower)
	if err != nil || set.GetLimits().GetStoreBytesMax() != limit || set.GetLimits().GetHistoryBytesMax() != limit/4 {
		t.Fatalf("set limits: got %v, %v, want the limit, and a quarter of it for history", set.GetLimits(), err)
	}
	wantError(t, put("c"), codes.ResourceExhausted, "QUOTA_EXCEEDED")
	_, err = m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{})
	wantError(t, err, codes.ResourceExhausted, "QUOTA_EXCEEDED")
	got, err := m.GetStatus(t.Context(), &tenurev1.GetStatusRequest{})
	if err != nil || got.GetStoreBytes() < storage.GrowthBytesMax(&storev1.Limits{StoreBytesMax: &limit}) || got.GetStoreBytesMax() != limit ||
		!hasProblem(got, "store-full") {
		t.Errorf("status: got %v, %v, want the problem store-full", got, err)
	}
	if _, err = m.Delete(t.Context(), &tenurev1.DeleteRequest{Key: "a"}); err != nil {
		t.Errorf("delete in a full store: %v", err)
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

// TestALimitOutOfItsBoundsIsRefused sets limits too low and too high, also with force.
func TestALimitOutOfItsBoundsIsRefused(t *testing.T) {
	m := start(t)
	for _, force := range []bool{false, true} {
		for field, limits := range map[string]*tenurev1.Limits{
			"limits.store_bytes_max":    {StoreBytesMax: new(uint64(1))},
			"limits.request_window_max": {RequestWindowMax: new(uint32(math.MaxUint32))},
			"limits.history_duration":   {HistoryDuration: durationpb.New(time.Millisecond)},
		} {
			_, err := m.SetLimits(t.Context(), &tenurev1.SetLimitsRequest{Limits: limits, Force: force})
			wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
			info := infoOf(err).GetMetadata()
			if info["limit"] == "" || info["limit_value"] == "" || info["amount"] == "" || info["applied"] != "no" {
				t.Errorf("%s: got %v, want the limit, the bound and the value", field, info)
			}
			var violations []*errdetails.BadRequest_FieldViolation
			for _, detail := range status.Convert(err).Details() {
				if bad, ok := detail.(*errdetails.BadRequest); ok {
					violations = bad.GetFieldViolations()
				}
			}
			if len(violations) != 1 || violations[0].GetField() != field {
				t.Errorf("got %v, want that it names %s", violations, field)
			}
		}
	}
	now, err := m.GetLimits(t.Context(), &tenurev1.GetLimitsRequest{})
	if err != nil || now.GetLimits().GetStoreBytesMax() != 8<<30 || now.GetLimits().GetRequestWindowMax() != 1024 {
		t.Errorf("got %v, %v, want the limits as they were", now, err)
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
