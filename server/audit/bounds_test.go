package audit_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/audit"
	"github.com/tenure-io/tenure/server/reason"
)

// errDenied is the error of a caller without a right.
func errDenied() *reason.Error {
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED, "no")
}

// refuse makes a call that ends with an error, unless the log refuses it.
func refuse(t *testing.T, l *audit.Log, method string, request proto.Message, failed *reason.Error) {
	t.Helper()
	_, c := l.Begin(t.Context(), method, here)
	if err := c.Message(request); err != nil {
		t.Fatal(err)
	}
	s, _ := reason.Status(failed, "")
	c.End(failed.Reason, s.Err())
}

// longRequests are what anybody may send in a request of 1.5 MB, by method: names that are long, or that are longer in a line, and many of them.
func longRequests() map[string]proto.Message {
	control := strings.Repeat("\x01", 3<<19)
	quotes := strings.Repeat(`"`, 3<<19)
	txn := &tenurev1.TxnRequest{}
	for range 100 {
		txn.Compares = append(txn.Compares, &tenurev1.Compare{Key: control[:15<<10]})
	}
	return map[string]proto.Message{
		tenurev1.KVService_DeletePrefix_FullMethodName:        &tenurev1.DeletePrefixRequest{Prefix: control, DropHolds: true},
		tenurev1.KVService_Delete_FullMethodName:              &tenurev1.DeleteRequest{Key: quotes},
		tenurev1.KVService_Txn_FullMethodName:                 txn,
		tenurev1.WatchService_Watch_FullMethodName:            &tenurev1.WatchRequest{RangeStart: control, RangeEnd: control[1:] + "\x02"},
		tenurev1.SessionService_DestroySession_FullMethodName: &tenurev1.DestroySessionRequest{SessionId: control},
		tenurev1.CatalogService_DeregisterService_FullMethodName: &tenurev1.DeregisterServiceRequest{
			Node: control[:1<<19], ServiceId: control[:1<<20],
		},
		tenurev1.AuthService_PutBinding_FullMethodName: &tenurev1.PutBindingRequest{Name: control[:1<<19], Principal: control[:1<<19]},
		"/" + quotes[:1<<20]:                           &tenurev1.GetRequest{Key: "a"},
	}
}

func TestALineIsShortWhateverWasSent(t *testing.T) {
	const lineBytesMax = 16 << 10
	for method, request := range longRequests() {
		d := &disk{room: -1}
		l := open(t, audit.Options{Stdout: d})
		refuse(t, l, method, request, errDenied())
		run(t, l)()
		if n := d.content.Len(); n == 0 || n > lineBytesMax {
			t.Errorf("%.80s: a line of %d bytes, want 1 to %d", method, n, lineBytesMax)
		}
	}
}

// TestALineThatWaitsKeepsNothingOfItsRequest measures what lines keep that wait to be written.
func TestALineThatWaitsKeepsNothingOfItsRequest(t *testing.T) {
	const calls, keptMax = 4, 1 << 20
	l := open(t, audit.Options{Stdout: &disk{}})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range calls {
		for method, request := range longRequests() {
			refuse(t, l, method, request, errDenied())
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > keptMax {
		t.Errorf("%d lines keep %d bytes, want at most %d", calls*len(longRequests()), kept, keptMax)
	}
	runtime.KeepAlive(l)
}

// TestTheTextOfATokenFarBehindIsCutOff has tokens on both sides of where a name is cut, and across it.
func TestTheTextOfATokenFarBehindIsCutOff(t *testing.T) {
	for _, at := range []int{0, 200, 230, 250, 256, 300, 8 << 10, 1 << 20} {
		for _, token := range []string{
			"tnr1_" + strings.Repeat("s", 40),
			"eyJhbGciOiJFUzI1NiJ9." + strings.Repeat("eyJpc3MiOiJodHRwcyJ9", 100) + "." + strings.Repeat("s", 80),
		} {
			key := strings.Repeat("-", at) + token
			got := fmt.Sprint(line(t, tenurev1.KVService_Put_FullMethodName, &tenurev1.PutRequest{Key: key}, nil, errDenied()))
			if strings.Contains(got, token[:12]) {
				t.Errorf("a token at %d is in the line: %s", at, got)
			}
		}
	}
}

// TestRefusedCallsLeaveHalfOfTheRoomToChanges floods a log that nobody writes with what anybody may do without a right.
func TestRefusedCallsLeaveHalfOfTheRoomToChanges(t *testing.T) {
	for name, failed := range map[string]*reason.Error{
		"denied calls":           errDenied(),
		"calls with no token":    reason.New(tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED, "who?"),
		"calls that are no call": reason.New(tenurev1.ErrorReason_ERROR_REASON_MALFORMED_REQUEST, "what?"),
	} {
		l := open(t, audit.Options{Stdout: &disk{}, Full: audit.Refuse})
		for range queueMax {
			refuse(t, l, tenurev1.KVService_Put_FullMethodName, &tenurev1.PutRequest{Key: "k"}, failed)
		}
		for i := range queueMax / 2 {
			if err := put(t.Context(), l); err != nil {
				t.Errorf("%s: change %d behind them: %v", name, i, err)
				break
			}
		}
		if err := put(t.Context(), l); err == nil {
			t.Errorf("%s: a change is made although its line would be lost", name)
		}
	}
}

// TestAChangeThatMayBeMadeHasItsRoom has changes whose outcome is not known, of callers about whom nothing was decided, as in mode off.
func TestAChangeThatMayBeMadeHasItsRoom(t *testing.T) {
	d := &disk{room: -1}
	l := open(t, audit.Options{Stdout: d, Full: audit.Refuse})
	unknown := reason.New(tenurev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN, "lost")
	for range queueMax {
		refuse(t, l, tenurev1.KVService_Put_FullMethodName, &tenurev1.PutRequest{Key: "k"}, unknown)
	}
	run(t, l)()
	if n := len(d.lines(t)); n != queueMax {
		t.Errorf("got %d lines, want %d", n, queueMax)
	}
}
