package authz

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// elsewhere are the services whose messages members never ask the table about: an agent serves AgentService, and each call of a line
// is decided as the call that it is.
var elsewhere = map[protoreflect.FullName]bool{"tenure.v1.AgentService": true, "tenure.v1.LineService": true}

// requests returns every message that a client may send to a member.
func requests() []protoreflect.MessageDescriptor {
	var out []protoreflect.MessageDescriptor
	protoregistry.GlobalFiles.RangeFilesByPackage("tenure.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				if !elsewhere[service.FullName()] {
					out = append(out, service.Methods().Get(j).Input())
				}
			}
		}
		return true
	})
	return out
}

// missing returns what the table lacks: messages and fields that can be reached from requests, rows of fields that there are not.
func missing(t *Table) []string {
	var problems []string
	seen := map[protoreflect.FullName]bool{}
	var look func(m protoreflect.MessageDescriptor)
	look = func(m protoreflect.MessageDescriptor) {
		if seen[m.FullName()] || !strings.HasPrefix(string(m.FullName()), "tenure.v1.") {
			return
		}
		seen[m.FullName()] = true
		about, known := t.messages[m]
		if !known {
			problems = append(problems, string(m.FullName()))
			return
		}
		byField := map[string]row{}
		for _, r := range about.rows {
			if _, twice := byField[r.field]; twice || (r.add == nil) == (r.none == "") {
				problems = append(problems, fmt.Sprintf("%s.%s twice, or neither a need nor a reason", m.FullName(), r.field))
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
			if r.add != nil && f.Kind() == protoreflect.MessageKind && !f.IsMap() {
				look(f.Message())
			}
		}
		delete(byField, "")
		for name := range byField {
			problems = append(problems, fmt.Sprintf("%s has no field %s", m.FullName(), name))
		}
	}
	for _, m := range requests() {
		look(m)
	}
	for m := range t.messages {
		if !seen[m.FullName()] {
			problems = append(problems, string(m.FullName())+" is no part of a request")
		}
	}
	slices.Sort(problems)
	return problems
}

func TestEveryFieldOfEveryRequestHasARow(t *testing.T) {
	table := NewTable()
	if got := missing(table); len(got) > 0 {
		t.Errorf("the table lacks rows:\n%s", strings.Join(got, "\n"))
	}
	if n := len(requests()); n < 60 {
		t.Errorf("%d requests were looked at", n)
	}
	for m, about := range table.messages {
		for i, r := range about.rows {
			if r.field == "" {
				continue
			}
			table.messages[m] = about.of(slices.Delete(slices.Clone(about.rows), i, i+1))
			if len(missing(table)) == 0 {
				t.Errorf("the row of %s.%s may be left out unseen", m.FullName(), r.field)
			}
			table.messages[m] = about
		}
	}
}

func TestAMessageWithoutRowIsAnError(t *testing.T) {
	for _, m := range []proto.Message{&tenurev1.AddAgentServiceRequest{}, &tenurev1.PutResponse{}, &tenurev1.Event{}} {
		if needs, err := NewTable().Needs(m); err == nil {
			t.Errorf("%T needs %v, want an error", m, needs)
		}
	}
}

// texts returns needs as text, sorted.
func texts(needs []Need) string {
	out := map[string]bool{}
	for _, n := range needs {
		text := n.String()
		if n.Kind == Key && n.By == BySession {
			text += " if deletes"
		}
		if n.Or != 0 {
			text += "|" + n.Or.String()
		}
		out[text] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(out)), "; ")
}

func TestNeeds(t *testing.T) {
	const id = "0190a0b0-0000-7000-8000-000000000001"
	options := &tenurev1.CallOptions{
		RequestId: &tenurev1.RequestID{SessionId: "r"},
		Guards: []*tenurev1.Guard{
			{Condition: &tenurev1.Guard_Held{Held: &tenurev1.Sequencer{Key: "g"}}},
			{Condition: &tenurev1.Guard_SessionAlive{SessionAlive: "s"}},
			{Condition: &tenurev1.Guard_Key{Key: &tenurev1.KeyCondition{Key: "k"}}},
		},
	}
	const optioned = `key "g" read|lock; key "k" read; session id r write; session id s read`
	force := &tenurev1.CallOptions{Force: true}
	tests := map[string]struct {
		message proto.Message
		want    string
	}{
		"a get reads":                              {&tenurev1.GetRequest{Key: "a"}, `key "a" read`},
		"a list lists and reads":                   {&tenurev1.ListRequest{Prefix: "a"}, `key "a"* list; key "a"* read`},
		"a list of keys only lists":                {&tenurev1.ListRequest{Prefix: "a", KeysOnly: true}, `key "a"* list`},
		"a list of everything needs everything":    {&tenurev1.ListRequest{KeysOnly: true}, `key * list`},
		"a put writes":                             {&tenurev1.PutRequest{Key: "a"}, `key "a" write`},
		"a sequential put writes the prefix":       {&tenurev1.PutRequest{Key: "a", Sequential: true}, `key "a"* write`},
		"a put that acquires locks and acts":       {&tenurev1.PutRequest{Key: "a", Acquire: id}, `key "a" lock; key "a" write; session id ` + id + ` write`},
		"a put that releases by force breaks":      {&tenurev1.PutRequest{Key: "a", Release: id, Options: force}, `key "a" break; key "a" write`},
		"a put that binds acts":                    {&tenurev1.PutRequest{Key: "a", BindSession: id}, `key "a" write; session id ` + id + ` write`},
		"options are looked into":                  {&tenurev1.DeleteRequest{Key: "z", Options: options}, `key "g" read|lock; key "k" read; key "z" write; session id r write; session id s read`},
		"a delete that drops holds locks":          {&tenurev1.DeleteRequest{Key: "a", DropHolds: true}, `key "a" lock; key "a" write`},
		"a delete of a prefix lists":               {&tenurev1.DeletePrefixRequest{Prefix: "a", DropHolds: true}, `key "a"* list; key "a"* lock; key "a"* write`},
		"a transaction is all of its parts":        {transaction(options), `key "a" read; key "b"* list; key "b"* read; key "c" write; ` + optioned},
		"a lock with a value writes":               {&tenurev1.AcquireLockRequest{Key: "a", SessionId: id, Value: []byte{}}, `key "a" lock; key "a" write; key "a" write if deletes; session id ` + id + ` write`},
		"a release acts and locks":                 {&tenurev1.ReleaseLockRequest{Key: "a", SessionId: id}, `key "a" lock; session id ` + id + ` write`},
		"a release by force breaks":                {&tenurev1.ReleaseLockRequest{Key: "a", SessionId: id, Options: force}, `key "a" break`},
		"a release that deletes writes":            {&tenurev1.ReleaseLockRequest{Key: "a", ValueOp: &tenurev1.ReleaseLockRequest_Delete{Delete: true}}, `key "a" lock; key "a" write`},
		"a break breaks, whoever holds":            {&tenurev1.BreakLockRequest{Key: "a", SessionId: id}, `key "a" break`},
		"a sequencer that cannot be read":          {&tenurev1.CheckSequencerRequest{Proof: &tenurev1.CheckSequencerRequest_Text{Text: "?"}}, `key * read`},
		"a proclamation acts as the leader":        {&tenurev1.ProclaimRequest{Key: "a", Sequencer: &tenurev1.Sequencer{Key: "b", SessionId: id}}, `key "a" write; key "b" write; session id ` + id + ` write`},
		"a resignation locks and acts":             {&tenurev1.ResignRequest{Key: "a", SessionId: id}, `key "a" lock; session id ` + id + ` write`},
		"a handing over reads who waits":           {&tenurev1.ResignRequest{Key: "a", SessionId: id, ToSessionId: "x"}, `key "a" lock; key "a" read; session id ` + id + ` write`},
		"a session is made by name":                {&tenurev1.CreateSessionRequest{Name: "web"}, `session "web" write`},
		"each renewal acts":                        {&tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{{SessionId: "x"}, {SessionId: "y"}}}, `session id x write; session id y write`},
		"a session is destroyed by its user":       {&tenurev1.DestroySessionRequest{SessionId: id}, `session id ` + id + ` write`},
		"a session is destroyed by force":          {&tenurev1.DestroySessionRequest{SessionId: id, Force: true}, `session id ` + id + ` break`},
		"a watch without selectors is of all keys": {&tenurev1.WatchRequest{}, `key * list; key * read; key * watch`},
		"a watch of keys": {
			&tenurev1.WatchRequest{Keys: []string{"a"}, Locks: []string{"b"}}, `key "a" read; key "a" watch; key "b" read; key "b" watch`,
		},
		"a watch of prefixes lists": {
			&tenurev1.WatchRequest{Prefixes: []string{"a"}, LockPrefixes: []string{"b"}},
			`key "a"* list; key "a"* read; key "a"* watch; key "b"* list; key "b"* read; key "b"* watch`,
		},
		"a watch of a range needs what contains it": {&tenurev1.WatchRequest{RangeStart: "a/1", RangeEnd: "a/5"}, `key "a/"* list; key "a/"* read; key "a/"* watch`},
		"a watch of sessions reads them":            {&tenurev1.WatchRequest{SessionIds: []string{id}, AllSessions: true}, `session * read; session id ` + id + ` read`},
		"a watch of a node sees its services":       {&tenurev1.WatchRequest{Nodes: []string{"H1"}}, `node "h1" read; service * read`},
		"a registration writes all that it has": {
			&tenurev1.RegisterNodeRequest{
				Node: &tenurev1.Node{Name: "H1"}, Services: []*tenurev1.Service{{ServiceId: "web1", Name: "web"}},
				Checks: []*tenurev1.Check{{CheckId: "c", ServiceId: "db1"}},
			},
			`node "h1" write; service "web" write; service of check "c" on node "h1" write; ` +
				`service of instance "db1" on node "h1" write; service of instance "web1" on node "h1" write`,
		},
		"a backup is not a read": {&tenurev1.BackupRequest{}, `operator backup`},
		"one's own token":        {&tenurev1.RotateTokenRequest{}, `any rule`},
		"another's token":        {&tenurev1.RotateTokenRequest{Accessor: "x"}, `admin write`},
		"the first token":        {&tenurev1.BootstrapAuthRequest{Token: "t"}, ``},
		"the own identity":       {&tenurev1.WhoAmIRequest{}, `any rule`},
	}
	table := NewTable()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			needs, err := table.Needs(test.message)
			if got := texts(needs); err != nil || got != sortedTexts(test.want) {
				t.Errorf("got %s, %v\nwant %s", got, err, sortedTexts(test.want))
			}
		})
	}
}

// sortedTexts returns texts in the order of texts.
func sortedTexts(s string) string {
	parts := strings.Split(s, "; ")
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), "; ")
}

// transaction returns one with a compare, both branches and options.
func transaction(o *tenurev1.CallOptions) *tenurev1.TxnRequest {
	return &tenurev1.TxnRequest{
		Compares:  []*tenurev1.Compare{{Key: "a"}},
		Then:      []*tenurev1.Op{{Kind: &tenurev1.Op_List{List: &tenurev1.ListRequest{Prefix: "b"}}}},
		Otherwise: []*tenurev1.Op{{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{Key: "c"}}}},
		Options:   o,
	}
}

func BenchmarkDecision(b *testing.B) {
	table := NewTable()
	var text strings.Builder
	for i := range 16 {
		fmt.Fprintf(&text, "key \"service/%02d/\"* rw\n", i)
	}
	policy, err := ParsePolicy(text.String() + `session "web-"* write`)
	if err != nil {
		b.Fatal(err)
	}
	rights := NewRights("token:x", "", policy)
	put := &tenurev1.PutRequest{Key: "service/15/a", Content: &tenurev1.PutRequest_Text{Text: "v"}}
	buffer := make([]Need, 0, 16)
	b.ReportAllocs()
	for b.Loop() {
		needs, err := table.Append(buffer[:0], put)
		if err != nil || len(needs) != 1 || !rights.Covers(needs[0]) {
			b.Fatal(needs, err)
		}
	}
}
