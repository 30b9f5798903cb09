package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/audit"
	"github.com/tenure-io/tenure/server/reason"
)

// queueMax is how many lines wait, as the package says.
const queueMax = 8192

// disk takes lines, unless it is full.
type disk struct {
	mu      sync.Mutex // guards what follows
	room    int        // bytes that fit; negative: any number
	content bytes.Buffer
}

func (d *disk) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.room < 0 || len(p) <= d.room {
		return d.content.Write(p)
	}
	n, _ := d.content.Write(p[:d.room])
	d.room = 0
	return n, errors.New("no space left")
}

func (d *disk) resize(room int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = room
}

// lines are the whole lines on the disk.
func (d *disk) lines(t *testing.T) (all []map[string]any) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for text := range strings.Lines(d.content.String()) {
		var line map[string]any
		if json.Unmarshal([]byte(text), &line) == nil && strings.HasSuffix(text, "\n") {
			all = append(all, line)
		}
	}
	return all
}

func open(t *testing.T, o audit.Options) *audit.Log {
	t.Helper()
	o.Member, o.Logger, o.Registerer = "a", zap.NewNop(), prometheus.NewRegistry()
	if o.Path == "" {
		o.Path = "-"
	}
	l, err := audit.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// here is where the calls of these tests come from.
func here(context.Context) audit.From { return audit.From{Address: "192.0.2.1:5", Via: "grpc"} }

// do makes a call that goes well, unless the log refuses it.
func do(ctx context.Context, l *audit.Log, method string, request proto.Message) error {
	_, c := l.Begin(ctx, method, here)
	if err := c.Message(request); err != nil {
		s, _ := reason.Status(err, "")
		c.End(reason.Of(err).Reason, s.Err())
		return err
	}
	c.Answered(&tenurev1.PutResponse{Header: &tenurev1.ResponseHeader{Revision: 7}})
	c.End(0, nil)
	return nil
}

func put(ctx context.Context, l *audit.Log) error {
	return do(ctx, l, tenurev1.KVService_Put_FullMethodName, &tenurev1.PutRequest{Key: "k"})
}

// run runs a log until the test ends it.
func run(t *testing.T, l *audit.Log) (end func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); l.Run(ctx) }()
	return func() { stop(); <-ended }
}

func TestALineSaysWhoDidWhat(t *testing.T) {
	d := &disk{room: -1}
	l := open(t, audit.Options{Stdout: d})
	ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(
		"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
	if err := put(ctx, l); err != nil {
		t.Fatal(err)
	}
	run(t, l)()
	lines := d.lines(t)
	if len(lines) != 1 {
		t.Fatalf("got %d lines, want 1", len(lines))
	}
	for name, want := range map[string]any{
		"seq": 1.0, "member": "a", "method": "tenure.v1.KVService/Put", "address": "192.0.2.1:5", "via": "grpc", "decision": "allowed",
		"applied": "yes", "revision": 7.0, "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
	} {
		if got := lines[0][name]; got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	if needs, _ := json.Marshal(lines[0]["needs"]); string(needs) != `["key \"k\" write"]` {
		t.Errorf("needs: got %s", needs)
	}
}

func TestOfManyNeedsTheFirstAreWrittenAndAllCounted(t *testing.T) {
	d := &disk{room: -1}
	l := open(t, audit.Options{Stdout: d})
	txn := &tenurev1.TxnRequest{}
	for range 20 {
		txn.Then = append(txn.Then, &tenurev1.Op{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{Key: "k"}}})
	}
	if err := do(t.Context(), l, tenurev1.KVService_Txn_FullMethodName, txn); err != nil {
		t.Fatal(err)
	}
	run(t, l)()
	line := d.lines(t)[0]
	if needs, _ := line["needs"].([]any); len(needs) != 8 || line["needs_count"] != 20.0 {
		t.Errorf("got %d needs of %v, want 8 of 20", len(needs), line["needs_count"])
	}
}

func TestClasses(t *testing.T) {
	type sent struct {
		method  string
		request proto.Message
	}
	calls := map[string]sent{
		"put":     {tenurev1.KVService_Put_FullMethodName, &tenurev1.PutRequest{Key: "k"}},
		"get":     {tenurev1.KVService_Get_FullMethodName, &tenurev1.GetRequest{Key: "k"}},
		"watch":   {tenurev1.WatchService_Watch_FullMethodName, &tenurev1.WatchRequest{}},
		"renewal": {tenurev1.SessionService_RenewSession_FullMethodName, &tenurev1.RenewSessionRequest{SessionId: "s"}},
		"destroy": {tenurev1.SessionService_DestroySession_FullMethodName, &tenurev1.DestroySessionRequest{SessionId: "s"}},
		"limits":  {tenurev1.ClusterService_SetLimits_FullMethodName, &tenurev1.SetLimitsRequest{}},
		"status":  {tenurev1.ClusterService_GetStatus_FullMethodName, &tenurev1.GetStatusRequest{}},
		"backup":  {tenurev1.ClusterService_Backup_FullMethodName, &tenurev1.BackupRequest{}},
		"token":   {tenurev1.AuthService_CreateToken_FullMethodName, &tenurev1.CreateTokenRequest{}},
		"rotate":  {tenurev1.AuthService_RotateToken_FullMethodName, &tenurev1.RotateTokenRequest{}},
		"line":    {tenurev1.LineService_Line_FullMethodName, &tenurev1.LineRequest{}},
		"tokens":  {tenurev1.AuthService_ListTokens_FullMethodName, &tenurev1.ListTokensRequest{}},
	}
	for classes, want := range map[string]string{
		"":                      "backup destroy limits put rotate token",
		"admin":                 "backup limits rotate token",
		"changes":               "destroy put",
		"reads":                 "get status tokens watch",
		"denied":                "",
		"admin,changes,reads":   "backup destroy get limits put rotate status token tokens watch",
		"denied,admin,nonsense": "error",
	} {
		var names []string
		if classes != "" {
			names = strings.Split(classes, ",")
		}
		asked, err := audit.ParseClasses(names)
		if err != nil {
			if want != "error" {
				t.Errorf("%s: %v", classes, err)
			}
			continue
		}
		d := &disk{room: -1}
		var got []string
		for _, name := range []string{"backup", "destroy", "get", "limits", "line", "put", "renewal", "rotate", "status", "token", "tokens", "watch"} {
			before := len(d.lines(t))
			l := open(t, audit.Options{Stdout: d, Classes: asked})
			if err := do(t.Context(), l, calls[name].method, calls[name].request); err != nil {
				t.Fatal(err)
			}
			run(t, l)()
			if len(d.lines(t)) > before {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: got %v, want %s", classes, got, want)
		}
	}
}

func TestDropLosesLinesWithAGapAndAProblem(t *testing.T) {
	d := &disk{room: -1}
	l := open(t, audit.Options{Stdout: d})
	for range queueMax + 3 {
		if err := put(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	if problem := l.Problem(); !strings.HasPrefix(problem, "3 lines of the audit log are lost") {
		t.Errorf("got problem %q", problem)
	}
	run(t, l)()
	if n := len(d.lines(t)); n != queueMax {
		t.Errorf("got %d lines, want %d", n, queueMax)
	}
}

func TestNumbersHaveAGapWhereLinesWereLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{room: -1}
		l := open(t, audit.Options{Stdout: d})
		for range queueMax + 3 {
			_ = put(t.Context(), l)
		}
		end := run(t, l)
		synctest.Wait()
		_ = put(t.Context(), l)
		end()
		lines := d.lines(t)
		if got := lines[len(lines)-1]["seq"]; got != float64(queueMax+4) {
			t.Errorf("got number %v behind the gap, want %d", got, queueMax+4)
		}
		<-time.After(time.Hour) // The problem ends.
		if problem := l.Problem(); problem != "" {
			t.Errorf("got problem %q after an hour", problem)
		}
	})
}

func TestRefuseRefusesChangesAndLetsOthersPass(t *testing.T) {
	l := open(t, audit.Options{Stdout: &disk{}, Full: audit.Refuse})
	for range queueMax {
		if err := put(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	err := put(t.Context(), l)
	if e := reason.Of(err); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_AUDIT_UNAVAILABLE {
		t.Errorf("a change: got %v, want AUDIT_UNAVAILABLE", err)
	}
	for method, request := range map[string]proto.Message{
		tenurev1.SessionService_RenewSession_FullMethodName:   &tenurev1.RenewSessionRequest{SessionId: "s"},
		tenurev1.LockService_ReleaseLock_FullMethodName:       &tenurev1.ReleaseLockRequest{Key: "k"},
		tenurev1.SessionService_DestroySession_FullMethodName: &tenurev1.DestroySessionRequest{SessionId: "s"},
		tenurev1.KVService_Get_FullMethodName:                 &tenurev1.GetRequest{Key: "k"},
	} {
		if err := do(t.Context(), l, method, request); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// TestRoomThatIsNotNeededIsGivenBack has calls that turn out to be no change, many at once for the race detector.
func TestRoomThatIsNotNeededIsGivenBack(t *testing.T) {
	l := open(t, audit.Options{Stdout: &disk{}, Full: audit.Refuse})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range queueMax / 4 {
				_, c := l.Begin(t.Context(), tenurev1.KVService_Put_FullMethodName, here)
				if err := errors.Join(c.Message(&tenurev1.PutRequest{Key: "k"}), c.Message(&tenurev1.GetRequest{Key: "k"})); err != nil {
					t.Error(err)
				}
				c.End(0, nil)
			}
		})
	}
	all.Wait()
	for range queueMax {
		if err := put(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
}

// TestACallMayEndWhileItIsRead is for the race detector: a stream is read by another goroutine than it is answered by.
func TestACallMayEndWhileItIsRead(t *testing.T) {
	l := open(t, audit.Options{Stdout: &disk{room: -1}})
	for range 50 {
		_, c := l.Begin(t.Context(), tenurev1.KVService_Put_FullMethodName, here)
		var both sync.WaitGroup
		both.Go(func() {
			if err := c.Message(&tenurev1.PutRequest{Key: "k"}); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() { c.End(0, nil) })
		both.Wait()
	}
	run(t, l)()
}

// TestFullDisk has a disk that is full in the middle of a line. Nothing is lost, changes are refused, and all goes on when there is
// room again.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{room: 100}
		l := open(t, audit.Options{Stdout: d, Full: audit.Refuse})
		end := run(t, l)
		if err := put(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := put(t.Context(), l); err == nil {
			t.Error("a change is made although its line cannot be written")
		}
		if problem := l.Problem(); !strings.Contains(problem, "cannot be written: no space left") {
			t.Errorf("got problem %q", problem)
		}
		d.resize(-1)
		<-time.After(2 * time.Second)
		if err := put(t.Context(), l); err != nil {
			t.Errorf("a change after there is room: %v", err)
		}
		end()
		lines := d.lines(t)
		if len(lines) != 3 || lines[0]["seq"] != 1.0 || lines[2]["seq"] != 3.0 || lines[1]["reason"] != "AUDIT_UNAVAILABLE" {
			t.Errorf("got lines %v, want 1 (written again), 2 (the refusal) and 3", lines)
		}
	})
}

func TestTheFileIsOpenedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	reopen := make(chan os.Signal)
	l := open(t, audit.Options{Path: path, Reopen: reopen})
	end := run(t, l)
	if err := put(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	reopen <- os.Interrupt
	if err := put(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	end()
	old, err := os.ReadFile(path + ".1")
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(append(old, fresh...), []byte("\n")); n != 2 || bytes.Count(fresh, []byte("\n")) < 1 {
		t.Errorf("got %d lines in both files, %q in the new one", n, fresh)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v, want mode 0600", info.Mode(), err)
	}
}

func TestAFileThatCannotBeOpenedIsAnError(t *testing.T) {
	_, err := audit.Open(audit.Options{Path: t.TempDir(), Member: "a", Logger: zap.NewNop(), Registerer: prometheus.NewRegistry()})
	if err == nil {
		t.Error("a directory is taken for a file")
	}
}

func TestSessionsThatEndByThemselvesAndHandshakesAreLines(t *testing.T) {
	d := &disk{room: -1}
	l := open(t, audit.Options{Stdout: d})
	ended := func(cause storev1.SessionEndCause) *storev1.Event {
		return &storev1.Event{Revision: 9, Kind: &storev1.Event_SessionEnded{SessionEnded: &storev1.SessionEnded{
			SessionId: make([]byte, 16), Name: "n", Cause: cause,
		}}}
	}
	l.Events([]*storev1.Event{
		ended(storev1.SessionEndCause_SESSION_END_CAUSE_EXPIRED), ended(storev1.SessionEndCause_SESSION_END_CAUSE_DESTROYED), {},
	})
	l.Handshake("192.0.2.1:5", "peer", "certificate")
	run(t, l)()
	lines := d.lines(t)
	if len(lines) != 2 || lines[0]["event"] != "session_ended" || lines[0]["reason"] != "EXPIRED" || lines[0]["revision"] != 9.0 ||
		lines[1]["reason"] != "HANDSHAKE_CERTIFICATE" || lines[1]["decision"] != "denied" || lines[1]["via"] != "peer" {
		t.Errorf("got %v", lines)
	}
	for range queueMax {
		l.Handshake("192.0.2.1:5", "peer", "time")
	}
	if err := put(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	run(t, l)()
	if lines = d.lines(t); lines[len(lines)-1]["method"] != "tenure.v1.KVService/Put" {
		t.Error("handshakes took the room of calls")
	}
}

// line returns the line of a call that is answered, with all classes written.
func line(t *testing.T, method string, request, response proto.Message, failed error) map[string]any {
	t.Helper()
	d := &disk{room: -1}
	l := open(t, audit.Options{Stdout: d, Classes: audit.Classes{audit.Denied: true, audit.Admin: true, audit.Changes: true}})
	_, c := l.Begin(t.Context(), method, here)
	if err := c.Message(request); err != nil {
		t.Fatal(err)
	}
	if failed == nil {
		c.Answered(response)
		c.End(0, nil)
	} else {
		s, _ := reason.Status(failed, "")
		c.End(reason.Of(failed).Reason, s.Err())
	}
	run(t, l)()
	lines := d.lines(t)
	if len(lines) == 0 {
		return nil
	}
	return lines[0]
}

// TestADirectoryInPlaceOfTheFileIsLeftAlone replaces the file by a directory while the log is written.
func TestADirectoryInPlaceOfTheFileIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	reopen := make(chan os.Signal)
	l := open(t, audit.Options{Path: path, Reopen: reopen})
	end := run(t, l)
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	reopen <- os.Interrupt
	reopen <- os.Interrupt // The first was served.
	if err := put(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if problem := l.Problem(); !strings.Contains(problem, "is not a regular file") {
		t.Errorf("got the problem %q", problem)
	}
	end()
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		t.Errorf("the directory: got %v, %v; want that it is left alone", info, err)
	}
}
