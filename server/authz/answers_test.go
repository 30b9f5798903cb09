package authz

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// responses returns every message that a member sends to clients by itself.
func responses() []protoreflect.MessageDescriptor {
	var out []protoreflect.MessageDescriptor
	protoregistry.GlobalFiles.RangeFilesByPackage("tenure.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				if !elsewhere[service.FullName()] {
					out = append(out, service.Methods().Get(j).Output())
				}
			}
		}
		return true
	})
	return out
}

// missingAnswers returns what is not said of answers: messages and fields that can be reached from responses through fields that
// are decided about, and rows of fields that there are not.
func missingAnswers(a *Answers) []string {
	var problems []string
	seen := map[protoreflect.FullName]bool{}
	var look func(m protoreflect.MessageDescriptor)
	look = func(m protoreflect.MessageDescriptor) {
		if seen[m.FullName()] || !strings.HasPrefix(string(m.FullName()), "tenure.v1.") {
			return
		}
		seen[m.FullName()] = true
		about, known := a.messages[m]
		if !known {
			problems = append(problems, string(m.FullName()))
			return
		}
		byField := map[string]shownRow{}
		for _, r := range about.rows {
			if _, twice := byField[r.field]; twice || r.because == "" && about.look == nil {
				problems = append(problems, fmt.Sprintf("%s.%s twice, or undecided", m.FullName(), r.field))
			}
			byField[r.field] = r
		}
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			r, known := byField[string(f.Name())]
			delete(byField, string(f.Name()))
			if !known {
				problems = append(problems, string(f.FullName()))
			}
			if known && r.because == "" && f.Kind() == protoreflect.MessageKind && !f.IsMap() {
				look(f.Message())
			}
		}
		for name := range byField {
			problems = append(problems, fmt.Sprintf("%s has no field %s", m.FullName(), name))
		}
	}
	for _, m := range responses() {
		look(m)
	}
	for m := range a.messages {
		if !seen[m.FullName()] && m.FullName() != "tenure.v1.PastHold" {
			problems = append(problems, string(m.FullName())+" is no part of an answer")
		}
	}
	slices.Sort(problems)
	return problems
}

func TestEveryFieldOfEveryAnswerHasARow(t *testing.T) {
	answers := NewAnswers()
	if got := missingAnswers(answers); len(got) > 0 {
		t.Errorf("nothing is said of:\n%s", strings.Join(got, "\n"))
	}
	if n := len(responses()); n < 60 {
		t.Errorf("%d answers were looked at", n)
	}
	for m, about := range answers.messages {
		if m.FullName() == "tenure.v1.PastHold" {
			continue
		}
		for i, r := range about.rows {
			short := answer{rows: slices.Delete(slices.Clone(about.rows), i, i+1), look: about.look}
			answers.messages[m] = short
			if len(missingAnswers(answers)) == 0 {
				t.Errorf("the row of %s.%s may be left out unseen", m.FullName(), r.field)
			}
			answers.messages[m] = about
		}
	}
}

func TestEveryReasonHasARow(t *testing.T) {
	for number, name := range tenurev1.ErrorReason_name {
		about, known := tells[tenurev1.ErrorReason(number)]
		if !known || (about.nothing == "") == (about.need == nil) {
			t.Errorf("%s has no row, or one that says neither why it tells nothing nor what is needed", name)
		}
	}
	if len(tells) != len(tenurev1.ErrorReason_name) {
		t.Errorf("%d rows for %d reasons", len(tells), len(tenurev1.ErrorReason_name))
	}
}

// someone is a viewer with some rights.
type someone struct {
	may   func(Need) bool
	acts  string
	reads string
}

func (s someone) Covers(n Need) bool        { return s.may != nil && s.may(n) }
func (s someone) Acts(session string) bool  { return s.acts != "" && s.acts == session }
func (s someone) Reads(session string) bool { return s.reads != "" && s.reads == session }
func (s someone) Node() string              { return "h1" }
func may(kind Kind, verb Verb) func(Need) bool {
	return func(n Need) bool { return n.Kind == kind && (n.Verb|n.Or)&verb != 0 }
}

// fill sets every field of a message that is no more than so deep, and every one of a oneof that arm chooses.
func fill(m protoreflect.Message, deep, arm int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() && o.Fields().Get(arm%o.Fields().Len()) != f {
			continue
		}
		switch {
		case f.IsMap():
			m.Mutable(f).Map().Set(protoreflect.ValueOfString("canary").MapKey(), protoreflect.ValueOfString("canary"))
		case f.IsList() && f.Kind() == protoreflect.MessageKind:
			if deep > 0 {
				fill(m.Mutable(f).List().AppendMutable().Message(), deep-1, arm)
			}
		case f.Kind() == protoreflect.MessageKind:
			if deep > 0 {
				fill(m.Mutable(f).Message(), deep-1, arm)
			}
		case f.IsList():
			m.Mutable(f).List().Append(scalar(f))
		default:
			m.Set(f, scalar(f))
		}
	}
}

// scalar returns a value that is not zero.
func scalar(f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("canary")
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte("canary"))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(1)
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(7)
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(7)
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(7)
	default:
		return protoreflect.ValueOfUint64(7)
	}
}

// TestWhatIsDecidedAboutIsHidden fills every message, and shows it to callers without any right and with all: the former see no
// scalar of a field that a look decides about, the latter see all.
func TestWhatIsDecidedAboutIsHidden(t *testing.T) {
	answers := NewAnswers()
	for d, about := range answers.messages {
		if about.look == nil {
			continue
		}
		for arm := range 10 {
			m := newMessage(t, d)
			fill(m.ProtoReflect(), 4, arm)
			if h := headerOf(m); h != nil {
				h.Revision = 1
			}
			before := proto.Clone(m)
			shown, hidden, err := answers.Show(m, someone{may: func(Need) bool { return true }})
			if err != nil || hidden != 0 || !proto.Equal(shown, m) {
				t.Errorf("%s: to a caller that may do everything %d are hidden, %v", d.FullName(), hidden, err)
			}
			shown, _, err = answers.Show(m, someone{})
			if err != nil || !proto.Equal(m, before) {
				t.Errorf("%s: the message itself was changed, or %v", d.FullName(), err)
			}
			for _, r := range about.rows {
				f := d.Fields().ByName(protoreflect.Name(r.field))
				if r.because != "" || f.Kind() == protoreflect.MessageKind && !f.IsMap() && !ownLook(d) {
					continue
				}
				if shown.ProtoReflect().Has(f) {
					t.Errorf("%s: %s is shown to a caller without rights", d.FullName(), r.field)
				}
			}
		}
	}
}

// ownLook reports whether a message's look takes whole messages out, and does not only look into them.
func ownLook(d protoreflect.MessageDescriptor) bool {
	switch d.Name() {
	case "Session", "Lock", "Hold", "Place":
		return true
	default:
		return false
	}
}

// newMessage returns an empty message of the generated type.
func newMessage(t *testing.T, d protoreflect.MessageDescriptor) proto.Message {
	t.Helper()
	kind, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		t.Fatal(err)
	}
	return kind.New().Interface()
}

func TestWhatLockersSee(t *testing.T) {
	answers := NewAnswers()
	hold := func(session string) *tenurev1.Hold {
		return &tenurev1.Hold{
			Sequencer: &tenurev1.Sequencer{Key: "k", SessionId: session, LockIndex: 3, FencingToken: 9, HistoryId: "h"},
			Owner:     "o", SessionName: "name of " + session, Permits: 1,
		}
	}
	lock := &tenurev1.Lock{
		Key: "k", Mode: tenurev1.LockMode_LOCK_MODE_EXCLUSIVE, LockIndex: 3, Holders: 2, Waiters: 2,
		Holds:   []*tenurev1.Hold{hold("own"), hold("other")},
		Delayed: []*tenurev1.Hold{hold("own"), hold("other")},
		Places:  []*tenurev1.Place{{Key: "k", Place: 1, SessionId: "other"}, {Key: "k", Place: 2, SessionId: "own"}},
		Past:    []*tenurev1.PastHold{{SessionName: "past"}},
	}
	reduced := &tenurev1.Hold{Sequencer: &tenurev1.Sequencer{Key: "k", SessionId: "other"}, SessionName: "name of other"}
	want := &tenurev1.Lock{
		Key: "k", Mode: tenurev1.LockMode_LOCK_MODE_EXCLUSIVE, Holds: []*tenurev1.Hold{hold("own"), reduced},
		Delayed: []*tenurev1.Hold{hold("own")}, Places: []*tenurev1.Place{{Key: "k", Place: 2, SessionId: "own"}},
	}
	response := &tenurev1.TryAcquireLockResponse{Header: &tenurev1.ResponseHeader{}, Lock: lock}
	shown, hidden, err := answers.Show(response, someone{may: may(Key, Lock), acts: "own"})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := shown.(*tenurev1.TryAcquireLockResponse)
	if !proto.Equal(got.GetLock(), want) || hidden == 0 || got.GetHeader().GetHidden() != hidden {
		t.Errorf("got %v, %d hidden\nwant %v", shown, hidden, want)
	}
	beside, _, err := answers.Show(&tenurev1.AttachSessionResponse{Holds: []*tenurev1.Hold{hold("own")}}, someone{acts: "own"})
	if attached, _ := beside.(*tenurev1.AttachSessionResponse); err != nil || len(attached.GetHolds()) != 0 {
		t.Errorf("keys beside one's own session, without a right on them: got %v, %v", beside, err)
	}
}

func TestWhatErrorsTell(t *testing.T) {
	answers := NewAnswers()
	compare := Refusal{Reason: tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED, Key: "k", Facts: map[string]string{"key": "k", "revision": "7"}}
	held := Refusal{
		Reason: tenurev1.ErrorReason_ERROR_REASON_LOCK_HELD, Key: "k",
		Facts: map[string]string{"holder_session_id": "s", "holder_name": "n", "holder_since_ms": "1"},
	}
	for name, test := range map[string]struct {
		refusal  Refusal
		may      func(Need) bool
		want     string
		reworded bool
	}{
		"a writer is not told the revision":        {compare, may(Key, Write), "revision", true},
		"a reader is":                              {compare, may(Key, Read), "", false},
		"a locker is told who holds":               {held, may(Key, Lock), "holder_since_ms", false},
		"a reader is told since when, too":         {held, may(Key, Read), "", false},
		"a writer is told neither":                 {held, may(Key, Write), "holder_session_id holder_name holder_since_ms", false},
		"a conflict of nodes names no other":       {Refusal{Reason: tenurev1.ErrorReason_ERROR_REASON_NODE_ID_CONFLICT}, may(Node, Write), "", true},
		"a reason that is not known tells nothing": {Refusal{Reason: 9999}, may(Node, Write), "", true},
	} {
		without, text := answers.ShowError(test.refusal, someone{may: test.may})
		if strings.Join(without, " ") != test.want || (text != "") != test.reworded {
			t.Errorf("%s: got %v, %q", name, without, text)
		}
	}
}

func TestAMessageOfWhichNothingIsSaidIsAnError(t *testing.T) {
	if _, _, err := NewAnswers().Show(&tenurev1.PutRequest{}, someone{}); err == nil {
		t.Error("a request is shown as an answer")
	}
}
