package storage_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// failingCommands fail in many ways, the same under both versions. There is one a line; some only prepare what the others
// fail of.
const failingCommands = `
session s1
session s2
session s3
destroy s3
put k v
takeover s2 epoch=1 instance=i
acquire held session=s1
acquire held session=s2
acquire shared session=s1 mode=shared
put k v if-revision=0
put k v if-revision=999
put missing v if-revision=999
put "odd \xe2\x80\xa8 name" v if-revision=999
put k v bind=s3
put k v bind=s9
put k v bind=s2@1
put k v bind=s1@7
put k v guard-held=held@7@s1@7
put k v guard-exists=missing
put k v guard-missing=k
put k v guard-mod-revision=k@9
put k v guard-create-revision=k@9
put k v guard-version=k@9
acquire held session=s1 mode=shared
acquire held session=s2 mode=shared
acquire shared session=s2 mode=semaphore permits=1 limit=2
acquire held session=s1 mode=none
resign held session=s1 to=s9
session s1
takeover s1 epoch=9
end-delays term=77
compact 999
txn | then acquire held session=s2 owner=x try | then release k session=s1
txn | if k version is 9 | else put k v if-revision=999
txn | then put k v | then put k w
`

// failingJoins fail in many ways from version 2 on; before, they are not enabled.
const failingJoins = `
member 1 name=m1 peer=h1:1 incarnation=10
make-join-token m2 none ttl=1h
make-join-token m2 t2
make-join-token m1 t2 ttl=1h
make-join-token m2 t2 ttl=1h replaces=9
make-join-token m2 t2 ttl=1h replaces=1
join 2 name=m2 peer=h2:1 incarnation=20 token=wrong
join 2 name=m2 peer=h2 incarnation=20 token=t2
join 2 name=m2 peer=h2:1 token=t2
join 2 name=m2 peer=h2:1 incarnation=20 token=t2
make-join-token m3 t3 ttl=1h replaces=1
end-join-tokens term=77 m2@t2
delete-member 2
join 2 name=m2 peer=h2:1 incarnation=20 token=t2
`

// failingLog returns the entries of commands, each under an idempotency key, so that the failures are kept.
func failingLog(t *testing.T, commands string) []storage.Entry {
	t.Helper()
	var log []storage.Entry
	for i, line := range strings.Split(strings.ReplaceAll(strings.TrimSpace(commands), "\n\n", "\n"), "\n") {
		cmd := parseCommand(t, line)
		cmd.IdempotencyKey = fmt.Appendf(nil, "key of line %010d", i)
		digest := sha256.Sum256([]byte(line))
		cmd.RequestDigest = digest[:]
		data, err := storage.EncodeEnvelope(&storev1.Envelope{Proposer: 1, Sequence: uint64(i), Commands: []*storev1.Command{cmd}})
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, storage.Entry{Index: uint64(len(log) + 2), Term: 1, Data: data})
	}
	return log
}

// failures applies a log, and returns the failures with their texts.
func failures(t *testing.T, store *storage.Store, log []storage.Entry) (all []*storev1.Failure, read []string) {
	t.Helper()
	out, err := store.Apply(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range out.Entries {
		if f := e.Results[0].GetFailure(); f != nil {
			all = append(all, f)
			read = append(read, storage.FailureText(f))
		}
	}
	return all, read
}

// TestRewordingATextChangesNoState applies the same failing commands with the texts of failures as they are, and in other
// words. From version 2 on the state and its checksum are the same; what people read is not.
func TestRewordingATextChangesNoState(t *testing.T) {
	log := failingLog(t, failingCommands+failingJoins)
	plain := newStore(t, vfs.NewMem(), "sm")
	kept, texts := failures(t, plain, log)
	details := map[storev1.FailureDetail]bool{}
	for i, f := range kept {
		details[f.GetDetail()] = true
		if f.GetMessage() != "" || texts[i] == "" {
			t.Errorf("failure %v is kept with a text, or has none to show: %q", f, texts[i])
		}
	}
	if len(details) < 30 {
		t.Fatalf("only %d kinds of failures: too few to show anything", len(details))
	}
	undo := storage.RewordAll()
	defer undo()
	other := newStore(t, vfs.NewMem(), "sm")
	_, reworded := failures(t, other, log)
	for i := range texts {
		if texts[i] == reworded[i] {
			t.Errorf("%q is shown in the same words", texts[i])
		}
	}
	if got, want := other.Applied().Checksum, plain.Applied().Checksum; got != want {
		t.Errorf("the checksum depends on the words: %x and %x", got, want)
	}
	if got, want := dumpOf(t, other), dumpOf(t, plain); got != want {
		t.Errorf("the state depends on the words: got\n%s\nwant\n%s", got, want)
	}
}

// TestBothVersionsShowTheSameTexts applies the same failing commands under both versions. Under version 1 texts are part of
// the state and never change; without its better texts version 2 shows the same.
func TestBothVersionsShowTheSameTexts(t *testing.T) {
	defer storage.FirstWords()()
	log := failingLog(t, failingCommands)
	_, texts := failures(t, newStore(t, vfs.NewMem(), "sm"), log)
	old := oldStore(t, vfs.NewMem(), "sm")
	kept, before := failures(t, old, log)
	if got, want := strings.Join(texts, "\n"), strings.Join(before, "\n"); got != want {
		t.Errorf("version 2 shows\n%s\nversion 1 showed\n%s", got, want)
	}
	for _, f := range kept {
		if f.GetMessage() == "" || f.GetDetail() != 0 || len(f.GetArguments()) > 0 {
			t.Errorf("under version 1 a failure is kept as %v", f)
		}
	}
	// What the first program made of this log.
	const first = 0x428bb8157ba6e40b
	if got := old.Applied().Checksum; got != first {
		t.Errorf("got checksum %#x, want %#x as ever", got, uint64(first))
	}
}

// TestStoredRowsHoldNoTexts looks for sentences in the rows that random commands leave under version 2.
func TestStoredRowsHoldNoTexts(t *testing.T) {
	store := newStore(t, vfs.NewMem(), "sm")
	kept, texts := failures(t, store, failingLog(t, failingCommands+failingJoins))
	dump := []byte(dumpOf(t, store))
	for i, f := range kept {
		if bytes.Contains(dump, []byte("message=")) || bytes.Contains(dump, []byte(texts[i])) {
			t.Fatalf("the text of %v is among the rows: %q", f, texts[i])
		}
	}
}

// TestEveryDetailHasAText goes through all that a failure may say.
func TestEveryDetailHasAText(t *testing.T) {
	for n, name := range storev1.FailureDetail_name {
		if n != 0 && !storage.HasText(storev1.FailureDetail(n)) {
			t.Errorf("%s has no text", name)
		}
	}
}

// TestRewordedTextsTakeTheSameArguments compares the verbs of each text that was reworded. A number may be decimal now.
func TestRewordedTextsTakeTheSameArguments(t *testing.T) {
	verbs := regexp.MustCompile("%[a-z]")
	decimal := strings.NewReplacer("%x", "%d")
	was, now := storage.Rewordings()
	for detail, text := range now {
		if got, want := verbs.FindAllString(decimal.Replace(text), -1), verbs.FindAllString(decimal.Replace(was[detail]), -1); !slices.Equal(got, want) {
			t.Errorf("%s: got arguments %v, want %v", detail, got, want)
		}
		if text == was[detail] {
			t.Errorf("%s is not reworded", detail)
		}
	}
}
