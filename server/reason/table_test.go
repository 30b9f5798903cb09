package reason_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// TestTheTableOfRESTIsDocumented compares the table of docs/rest.md with the one that the server uses.
func TestTheTableOfRESTIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/rest.md")
	if err != nil {
		t.Fatal(err)
	}
	byStatus := map[int][]string{}
	numbers := slices.Sorted(maps.Keys(tenurev1.ErrorReason_name))
	for _, number := range numbers {
		if why := tenurev1.ErrorReason(number); why != tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED {
			byStatus[reason.HTTPStatus(why)] = append(byStatus[reason.HTTPStatus(why)], reason.Name(why))
		}
	}
	var table strings.Builder
	table.WriteString("| HTTP | reasons |\n|---|---|\n")
	for _, status := range slices.Sorted(maps.Keys(byStatus)) {
		fmt.Fprintf(&table, "| %d | %s |\n", status, strings.Join(byStatus[status], ", "))
	}
	if !strings.Contains(string(text), "\n\n"+table.String()+"\n") {
		t.Errorf("docs/rest.md does not have the table of reasons, or not this one:\n\n%s", table.String())
	}
}

// TestEveryReasonHasAStatus fails when a new reason is not in the table: INTERNAL is the only one that may be 500.
func TestEveryReasonHasAStatus(t *testing.T) {
	for number, name := range tenurev1.ErrorReason_name {
		why := tenurev1.ErrorReason(number)
		internal := why == tenurev1.ErrorReason_ERROR_REASON_INTERNAL || why == tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED
		if got := reason.HTTPStatus(why); (got == http.StatusInternalServerError) != internal {
			t.Errorf("%s has status %d", name, got)
		}
	}
}

// TestEveryBrokenRuleHasAReason asks for each failure of the state machine whether clients get a reason for it.
func TestEveryBrokenRuleHasAReason(t *testing.T) {
	// The commands that break these rules are the members' own; clients never see the failure.
	inside := []storev1.FailureReason{
		storev1.FailureReason_FAILURE_REASON_UNSPECIFIED,
		storev1.FailureReason_FAILURE_REASON_TERM_MISMATCH,
		storev1.FailureReason_FAILURE_REASON_SESSION_EXISTS,
		storev1.FailureReason_FAILURE_REASON_MEMBER_TOO_OLD,
		storev1.FailureReason_FAILURE_REASON_MEMBER_REMOVED,
		storev1.FailureReason_FAILURE_REASON_JOIN_TOKEN_REFUSED,
	}
	for number, name := range storev1.FailureReason_name {
		failure := storev1.FailureReason(number)
		e := reason.Of(reason.OfFailure(&storev1.Failure{Reason: failure}, false))
		if known := e != nil; known == slices.Contains(inside, failure) {
			t.Errorf("%s: got a reason of the API %v, want the opposite", name, known)
		}
	}
}

// TestWhatWasFoundOtherwiseIsNotARight shows a client why its change was not made: something else is under an id that it names. It tries again as if
// rights had been taken away.
func TestWhatWasFoundOtherwiseIsNotARight(t *testing.T) {
	e := reason.Of(reason.OfFailure(&storev1.Failure{
		Reason: storev1.FailureReason_FAILURE_REASON_DENY_REVISION_OLD, Detail: storev1.FailureDetail_FAILURE_DETAIL_FOUND_OTHERWISE,
	}, false))
	const want = "what an id in the request names has changed since the call was decided about"
	if e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED || e.Message != want || reason.Code(e.Reason) != codes.Unavailable {
		t.Errorf("got %+v, want RIGHTS_CHANGED: %s", e, want)
	}
}
