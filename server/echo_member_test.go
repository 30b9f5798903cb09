package server_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestErrorsRepeatLittle sends long texts, and looks at how much of them comes back: quoted, at most 256 bytes and what the
// member says itself.
func TestErrorsRepeatLittle(t *testing.T) {
	m := start(t)
	elections := tenurev1.NewElectionServiceClient(m.conn)
	for filler, size := range map[string]int{"k": 1_400_000, "\x01": 400_000} {
		long := strings.Repeat(filler, size)
		for name, tc := range map[string]struct {
			call func() error
			code codes.Code
		}{
			"proclaim": {func() error {
				_, err := elections.Proclaim(t.Context(), &tenurev1.ProclaimRequest{Key: "a", Sequencer: &tenurev1.Sequencer{Key: long}})
				return err
			}, codes.InvalidArgument},
			"health": {func() error {
				_, err := m.health.Check(t.Context(), &healthpb.HealthCheckRequest{Service: long})
				return err
			}, codes.NotFound},
			"a key": {func() error {
				_, err := m.Get(t.Context(), &tenurev1.GetRequest{Key: long[:1000]})
				return err
			}, codes.NotFound},
			"a sequencer": {func() error {
				_, err := m.CheckSequencer(t.Context(), &tenurev1.CheckSequencerRequest{Proof: &tenurev1.CheckSequencerRequest_Text{Text: long}})
				return err
			}, codes.InvalidArgument},
			"a page token": {func() error {
				_, err := m.List(t.Context(), &tenurev1.ListRequest{PageToken: long})
				return err
			}, codes.InvalidArgument},
			"a session": {func() error {
				_, err := m.GetSession(t.Context(), &tenurev1.GetSessionRequest{SessionId: long})
				return err
			}, codes.InvalidArgument},
		} {
			err := tc.call()
			if status.Code(err) != tc.code {
				t.Errorf("%s of %q: got %.300v, want %v", name, filler, err, tc.code)
			}
			texts := []string{status.Convert(err).Message()}
			for _, fact := range infoOf(err).GetMetadata() {
				texts = append(texts, fact)
			}
			for _, text := range texts {
				if n := len(strconv.Quote(text)); n > 512 {
					t.Errorf("%s of %q: a text of %d bytes", name, filler, n)
				}
			}
		}
	}
	body := `{"sequencer":{"key":"` + strings.Repeat("k", 1_400_000) + `"}}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+m.at.HTTP+"/v1/elections/a", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if _ = answer.Body.Close(); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("over REST: got %s, want 400", answer.Status)
	}
}
