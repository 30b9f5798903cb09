package storage_test

import (
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// TestScripts runs the dialogues in testdata. See testdata/README.md for the words they use.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := newScript(t)
		datadriven.RunTest(t, path, s.run)
	})
}

// script is the state of one dialogue.
type script struct {
	t     *testing.T
	fs    *vfs.MemFS
	store *storage.Store
	term  uint64
	index uint64
	clock int64
	log   []storage.Entry
}

func newScript(t *testing.T) *script {
	t.Helper()
	s := &script{t: t}
	_, newest := storage.ClusterVersions()
	s.begin(storage.Genesis{ClusterID: [16]byte{1}, HistoryID: [16]byte{2}, ClusterVersion: newest})
	t.Cleanup(func() {
		if err := s.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// begin makes a new store.
func (s *script) begin(g storage.Genesis) {
	s.fs, s.term, s.index, s.clock, s.log = vfs.NewCrashableMem(), 1, 1, 0, nil
	s.open()
	if err := s.store.Bootstrap(g); err != nil {
		s.t.Fatal(err)
	}
}

// beginAgain forgets the present store and makes a new one.
func (s *script) beginAgain(g storage.Genesis) {
	if err := s.store.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.begin(g)
}

func (s *script) open() {
	store, err := storage.Open(storage.Options{FS: s.fs, Dir: "sm"})
	if err != nil {
		s.t.Fatal(err)
	}
	s.store = store
}

// run answers one directive.
func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var out string
	switch d.Cmd {
	case "apply":
		if d.HasArg("term") {
			d.ScanArgs(t, "term", &s.term)
		}
		out = s.apply(strings.Split(strings.TrimSpace(d.Input), "\n"))
	case "frozen":
		_, newest := storage.ClusterVersions()
		s.beginAgain(storage.Genesis{FreezeMs: 60_000, ClusterVersion: newest})
	case "version":
		var version uint32
		if _, err := fmt.Sscan(d.CmdArgs[0].Key, &version); err != nil {
			t.Fatalf("%s: %v", d.Pos, err)
		}
		s.beginAgain(storage.Genesis{ClusterID: [16]byte{1}, HistoryID: [16]byte{2}, ClusterVersion: version})
	case "crash":
		out = s.crash()
	case "read":
		out = s.read(strings.Split(strings.TrimSpace(d.Input), "\n"))
	case "dump":
		out = s.dump(d)
	default:
		t.Fatalf("%s: unknown directive %q", d.Pos, d.Cmd)
	}
	return showNames(out)
}

// crash loses what is not on disk, then applies the lost entries again: nothing may change.
func (s *script) crash() string {
	before := dumpOf(s.t, s.store)
	clone := s.fs.CrashClone(vfs.CrashCloneCfg{})
	if err := s.store.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.fs = clone
	s.open()
	again := s.log[s.store.Applied().Index-1:]
	if _, err := s.store.Apply(again); err != nil {
		s.t.Fatal(err)
	}
	if after := dumpOf(s.t, s.store); after != before {
		s.t.Fatalf("after a crash, got:\n%s\nwant:\n%s", after, before)
	}
	return fmt.Sprintf("%d entries applied again, same state\n", len(again))
}

func (s *script) apply(lines []string) string {
	env := &storev1.Envelope{Proposer: 1, Sequence: s.index}
	for _, line := range lines {
		cmd := parseCommand(s.t, line)
		if cmd.GetWallTimeMs() == 0 {
			s.clock++
			cmd.WallTimeMs = s.clock
		}
		env.Commands = append(env.Commands, cmd)
	}
	data, err := storage.EncodeEnvelope(env)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	s.index++
	e := storage.Entry{Index: s.index, Term: s.term, Data: data}
	s.log = append(s.log, e)
	out, err := s.store.Apply([]storage.Entry{e})
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	events := out.Events
	for i, result := range out.Entries[0].Results {
		if len(lines) > 1 {
			fmt.Fprintf(&b, "> %s\n", lines[i])
		}
		b.WriteString(showResult(result))
		for len(events) > 0 && result.GetChanged() && events[0].GetRevision() == result.GetRevision() {
			b.WriteString("  " + showEvent(events[0]) + "\n")
			events = events[1:]
		}
	}
	return b.String()
}

// showResult shows a result in one line: its revision, then its kind or failure.
func showResult(r *storev1.Result) string {
	text := storage.FormatMessage(r)
	if f := r.GetFailure(); f != nil {
		return fmt.Sprintf("failed %s\n", trimBraces(storage.FormatMessage(withText(f))))
	}
	change := "unchanged at"
	if r.GetChanged() {
		change = "revision"
	}
	text = trimBraces(text)
	text = strings.TrimPrefix(text, fmt.Sprintf("revision=%d", r.GetRevision()))
	text = strings.TrimPrefix(strings.TrimSpace(text), "changed=true")
	return strings.TrimSpace(fmt.Sprintf("%s %d %s", change, r.GetRevision(), strings.TrimSpace(text))) + "\n"
}

// withText returns a failure with the text that people read in the place of its details.
func withText(f *storev1.Failure) *storev1.Failure {
	shown := proto.CloneOf(f)
	shown.Message = storage.FailureText(f)
	shown.Detail, shown.Arguments = storev1.FailureDetail_FAILURE_DETAIL_UNSPECIFIED, nil
	for _, op := range shown.GetOperations() {
		op.Failure = withText(op.GetFailure())
	}
	return shown
}

func trimBraces(text string) string {
	return strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}")
}

// showEvent shows an event as revision.index/count and its kind; wall time and namespace are left out.
func showEvent(e *storev1.Event) string {
	shown := proto.CloneOf(e)
	shown.Revision, shown.Index, shown.Count, shown.WallTimeMs = 0, 0, 0, 0
	return fmt.Sprintf("%d.%d/%d %s", e.GetRevision(), e.GetIndex(), e.GetCount(), trimBraces(storage.FormatMessage(shown)))
}

// showNames replaces the ids of sessions by the names that scripts use.
func showNames(text string) string {
	return regexp.MustCompile(`00000000-0000-0000-0000-[0-9a-f]{12}`).ReplaceAllStringFunc(text, func(id string) string {
		n, err := strconv.ParseUint(id[24:], 16, 64)
		if err != nil {
			return id
		}
		return fmt.Sprintf("s%d", n)
	})
}

// id returns the id of the session that scripts call s1, s2 and so on.
func id(t *testing.T, session string) []byte {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(session, "s"), 10, 64)
	if err != nil || !strings.HasPrefix(session, "s") {
		t.Fatalf("session %q is not s and a number", session)
	}
	parsed, err := storage.ParseSessionID(fmt.Sprintf("00000000-0000-0000-0000-%012x", n))
	if err != nil {
		t.Fatal(err)
	}
	return parsed[:]
}

func dumpOf(t *testing.T, s *storage.Store) string {
	t.Helper()
	var b strings.Builder
	if err := s.Dump(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// dump shows the rows of the kinds that the directive names; all but history and applied if it names none.
func (s *script) dump(d *datadriven.TestData) string {
	kinds := ""
	for _, arg := range d.CmdArgs {
		kinds += arg.Key
	}
	var b strings.Builder
	for line := range strings.Lines(dumpOf(s.t, s.store)) {
		if (kinds == "" && !strings.Contains("av", line[:1])) || strings.Contains(kinds, line[:1]) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// words are the parts of one line of a script: positional words and key=value pairs, either of them perhaps quoted as in
// Go.
type words struct {
	t    *testing.T
	line string
	pos  []string
	opts map[string]string
	used map[string]bool
}

func parseWords(t *testing.T, line string) *words {
	t.Helper()
	w := &words{t: t, line: line, opts: map[string]string{}, used: map[string]bool{}}
	rest := strings.TrimSpace(line)
	option := regexp.MustCompile(`^([a-z0-9-]+)=`)
	for rest != "" {
		key := ""
		if m := option.FindStringSubmatch(rest); m != nil {
			key, rest = m[1], rest[len(m[0]):]
		}
		var value string
		if strings.HasPrefix(rest, `"`) {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			rest = rest[len(quoted):]
			if value, err = strconv.Unquote(quoted); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		} else {
			end := strings.IndexByte(rest+" ", ' ')
			value, rest = rest[:end], rest[end:]
		}
		rest = strings.TrimSpace(rest)
		if key != "" {
			w.opts[key] = value
		} else {
			w.pos = append(w.pos, value)
		}
	}
	return w
}

// next returns the next positional word.
func (w *words) next() string {
	w.t.Helper()
	if len(w.pos) == 0 {
		w.t.Fatalf("%s: a word is missing", w.line)
	}
	word := w.pos[0]
	w.pos = w.pos[1:]
	return word
}

// flag says whether a word without value is there.
func (w *words) flag(name string) bool {
	for i, word := range w.pos {
		if word == name {
			w.pos = append(w.pos[:i:i], w.pos[i+1:]...)
			return true
		}
	}
	return false
}

func (w *words) has(name string) bool {
	w.used[name] = true
	_, ok := w.opts[name]
	return ok
}

func (w *words) str(name string) string {
	w.used[name] = true
	return w.opts[name]
}

func (w *words) num(name string) uint64 {
	w.t.Helper()
	if !w.has(name) {
		return 0
	}
	n, err := strconv.ParseUint(w.opts[name], 10, 64)
	if err != nil {
		w.t.Fatalf("%s: %v", w.line, err)
	}
	return n
}

// ms returns a duration in milliseconds.
func (w *words) ms(name string) int64 {
	w.t.Helper()
	if !w.has(name) {
		return 0
	}
	d, err := time.ParseDuration(w.opts[name])
	if err != nil {
		w.t.Fatalf("%s: %v", w.line, err)
	}
	return d.Milliseconds()
}

// ref returns a reference to a session, perhaps with its epoch behind an "@"; nil if the option is missing.
func (w *words) ref(name string) *storev1.SessionRef {
	w.t.Helper()
	if !w.has(name) {
		return nil
	}
	return parseRef(w.t, w.opts[name])
}

func parseRef(t *testing.T, text string) *storev1.SessionRef {
	t.Helper()
	session, epochText, found := strings.Cut(text, "@")
	ref := &storev1.SessionRef{SessionId: id(t, session)}
	if found {
		epoch, err := strconv.ParseUint(epochText, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		ref.Epoch = epoch
	}
	return ref
}

// done fails the test if something of the line was not understood.
func (w *words) done() {
	w.t.Helper()
	var left []string
	for name := range w.opts {
		if !w.used[name] {
			left = append(left, name)
		}
	}
	sort.Strings(left)
	if left = append(left, w.pos...); len(left) > 0 {
		w.t.Fatalf("%s: not understood: %q", w.line, left)
	}
}
