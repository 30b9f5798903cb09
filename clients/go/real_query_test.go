package tenure_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// create stores a prepared query, and returns its id.
func create(t *testing.T, q *tenure.Queries, query tenure.Query) string {
	t.Helper()
	id, err := q.Create(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// found returns what a run found, as service/fallback: node/id status weight.
func found(r *tenure.QueryResult, err error) string {
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("%s/%d:", r.Service, r.Fallback)
	for _, i := range r.Instances {
		text += fmt.Sprintf(" %s/%s %s %d", i.Node, i.ID, i.Status, i.Weight)
	}
	return text
}

func queryFinds(t *testing.T, c *tenure.Client) {
	ctx, q := t.Context(), c.Queries()
	register(t, c, tenure.Service{Name: "found", ID: "w2", Node: "q-n2"})
	registerNode(t, c, &tenurev1.RegisterNodeRequest{
		Node:     &tenurev1.Node{Name: "q-n1"},
		Services: []*tenurev1.Service{{ServiceId: "w1", Name: "found", Weights: &tenurev1.ServiceWeights{Passing: 7, Warning: 2}}},
	})
	full := tenure.Query{
		Name: "find", Prefix: true, Regexp: "^find-(.*)$", Service: "${match(1)}", Tags: []string{"!old", "${match(2)}"}, IgnoreChecks: []string{"none"},
		NodeMeta: map[string]string{}, Near: "_agent", Fallbacks: []tenure.QueryFallback{{Service: "found"}, {Tags: []string{"a"}, Zone: "z"}},
		RemoveEmptyTags: true, Meta: map[string]string{"team": "shop"}, ServiceMeta: map[string]string{},
	}
	full.ID = create(t, q, full)
	stored, err := q.Get(ctx, "find")
	if err != nil {
		t.Fatal(err)
	}
	want := full
	want.CreateRevision, want.ModRevision, want.NodeMeta, want.ServiceMeta = stored.CreateRevision, stored.ModRevision, nil, nil
	got := *stored
	got.NodeMeta, got.ServiceMeta = nil, nil // They are empty.
	if !reflect.DeepEqual(got, want) || len(stored.NodeMeta)+len(stored.ServiceMeta) > 0 || stored.CreateRevision == 0 {
		t.Errorf("stored:\n%+v\nwant:\n%+v", got, want)
	}
	if explained, failed := q.Explain(ctx, "find-found"); failed != nil || explained.Service != "found" || explained.Name != "find" {
		t.Errorf("explained: %+v, %v", explained, failed)
	}
	r, err := q.Execute(ctx, "find-found", tenure.WithCallerNode("q-n2"))
	if got := found(r, err); got != "found/0: q-n2/w2 passing 1 q-n1/w1 passing 7" || r.QueryID != full.ID || r.Meta["team"] != "shop" {
		t.Errorf("from q-n2: %s, %+v", got, r)
	}
	if got := found(q.Execute(ctx, "find-other", tenure.WithNear("q-n1"), tenure.WithLimit(1))); got != "found/1: q-n1/w1 passing 7" {
		t.Errorf("by the fallback: %s", got)
	}
	nodeCheck(t, c, "q-n1", tenure.CheckWarning)
	if got := found(q.Execute(ctx, "find-found", tenure.WithNear("q-n1"))); got != "found/0: q-n1/w1 warning 2 q-n2/w2 passing 1" {
		t.Errorf("with a warning: %s", got)
	}
	if got := found(q.Execute(ctx, "find-found", tenure.WithOnlyPassing())); got != "found/0: q-n2/w2 passing 1" {
		t.Errorf("only what passes: %s", got)
	}
	nodeCheck(t, c, "q-n1", tenure.CheckCritical)
	settle(t, func() string { // The member may be behind itself.
		if got := found(q.Execute(ctx, "find-found", tenure.WithStale())); got != "found/0: q-n2/w2 passing 1" {
			return got
		}
		return ""
	})
	revision, err := q.Update(ctx, tenure.Query{ID: full.ID, Name: "find", Service: "found"}, tenure.IfRevision(stored.ModRevision))
	if err != nil || revision <= stored.ModRevision {
		t.Errorf("update: %d after %d, %v", revision, stored.ModRevision, err)
	}
	if _, err = q.Update(ctx, full, tenure.IfRevision(stored.ModRevision)); !errors.Is(err, tenure.ErrCompareFailed) {
		t.Errorf("update of what changed: %v", err)
	}
	for _, want := range []bool{true, false} {
		if deleted, err := q.Delete(ctx, full.ID); err != nil || deleted != want {
			t.Errorf("deleted: %v, %v", deleted, err)
		}
	}
}

func queryDiesWithSession(t *testing.T, c *tenure.Client) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	create(t, c.Queries(), tenure.Query{Name: "free", Service: "web"})
	s := session(t, c)
	id := create(t, s.Queries(), tenure.Query{Name: "bound", Service: "web"})
	if list, err := s.Queries().List(ctx, ""); err != nil || len(list) != 1 || list[0].ID != id || list[0].SessionID != s.ID() {
		t.Errorf("of the session: %v, %v", list, err)
	}
	if list, err := c.Queries().List(ctx, ""); err != nil || len(list) < 2 {
		t.Errorf("of all: %v, %v", list, err)
	}
	held, err := s.Lock("bound").Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.Queries().Update(ctx, tenure.Query{ID: id, Name: "bound", Service: "db"}, tenure.WithHeld(held)); err != nil {
		t.Error(err)
	}
	begun := false
	for e, err := range c.Watch(ctx, tenure.OnEveryQuery(), tenure.WithInitial()) {
		if err != nil {
			t.Fatal(err)
		}
		if !begun {
			begun = true
			if n := len(e.InitialCatalog.Queries); n < 2 {
				t.Errorf("the watch begins with %d", n)
			}
			create(t, c.Queries(), tenure.Query{Name: "third", Service: "web"})
			if err = s.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		if e.Type == tenure.EventQueryPut {
			if e.Query.Name != "third" || e.Query.Service != "web" {
				t.Errorf("put: %+v", e.Query)
			}
			continue
		}
		if e.Type != tenure.EventQueryDeleted || e.Query.ID != id || e.Query.Name != "bound" || e.Query.SessionID != s.ID() {
			t.Errorf("the event is %+v, %+v", e, e.Query)
		}
		break
	}
	if _, err = c.Queries().Execute(ctx, "bound"); !errors.Is(err, tenure.ErrQueryNotFound) {
		t.Errorf("a run after the end: %v", err)
	}
	if _, err = s.Queries().Create(ctx, tenure.Query{Name: "late", Service: "web"}); !errors.Is(err, tenure.ErrSessionClosed) {
		t.Errorf("create after the end: %v", err)
	}
	if _, err = c.Queries().Create(ctx, tenure.Query{Name: "late", Service: "web", SessionID: session(t, c).ID()}); !errors.Is(err, tenure.ErrAuth) {
		t.Errorf("create for another session: %v", err)
	}
	if _, err = c.Queries().Get(ctx, "free"); err != nil {
		t.Error(err)
	}
}

func queryRefused(t *testing.T, c *tenure.Client) {
	ctx, q := t.Context(), c.Queries()
	create(t, q, tenure.Query{Name: "taken", Service: "web"})
	for name, test := range map[string]struct {
		query tenure.Query
		want  error
	}{
		"no service":                {tenure.Query{Name: "a"}, tenure.ErrInvalidArgument},
		"a name that is taken":      {tenure.Query{Name: "taken", Service: "web"}, tenure.ErrQueryNameTaken},
		"text that is not UTF-8":    {tenure.Query{Name: "a\xff", Service: "web"}, tenure.ErrInvalidArgument},
		"a session that is not one": {tenure.Query{Name: "a", Service: "web", SessionID: "x"}, tenure.ErrInvalidArgument},
	} {
		if _, err := q.Create(ctx, test.query); !errors.Is(err, test.want) || tenure.AppliedOf(err) != tenure.AppliedNo {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	gone := "7f1f45d5-9e35-4a4a-8cba-8a1d4a3e9e3f"
	if _, err := q.Create(ctx, tenure.Query{Name: "a", Service: "web", SessionID: gone}); !errors.Is(err, tenure.ErrSessionNotFound) {
		t.Errorf("a session that there is not: %v", err)
	}
	for name, call := range map[string]func(text string) error{
		"get":     func(text string) error { _, err := q.Get(ctx, text); return err },
		"execute": func(text string) error { _, err := q.Execute(ctx, text); return err },
		"explain": func(text string) error { _, err := q.Explain(ctx, text); return err },
	} {
		if err := call("none"); !errors.Is(err, tenure.ErrQueryNotFound) {
			t.Errorf("%s of none: %v", name, err)
		}
		if err := call("a\xff"); !errors.Is(err, tenure.ErrInvalidArgument) {
			t.Errorf("%s of what is not text: %v", name, err)
		}
	}
	if list, err := q.List(ctx, "a"); err != nil || len(list) > 0 {
		t.Errorf("after what was refused: %v, %v", list, err)
	}
}
