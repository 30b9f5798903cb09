package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// openedBy lists all sessions that principals opened, in small pages, and returns their names.
func (m *member) openedBy(t *testing.T, by string, principals ...string) ([]string, error) {
	t.Helper()
	var names []string
	r := &tenurev1.ListSessionsRequest{Principals: principals, PageSize: 2}
	for {
		page, err := m.ListSessions(as(t.Context(), by), r)
		if err != nil {
			return nil, err
		}
		for _, s := range page.GetSessions() {
			names = append(names, s.GetName())
		}
		if r.PageToken = page.GetNextPageToken(); r.GetPageToken() == "" {
			slices.Sort(names)
			return names, nil
		}
	}
}

// TestSessionsAreListedByWhoOpenedThem opens sessions by two tokens and a child of one, and lists them by their principals: an administrator lists
// anybody's, and others their own alone.
func TestSessionsAreListedByWhoOpenedThem(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	web := m.token(t, admin, "web", "session \"web-\"* write\nsession own read\n")
	job := m.child(t, web.GetText(), web.GetToken().GetAccessor())
	db := m.token(t, admin, "db", "session * write")
	plain := m.token(t, admin, "plain", `session "db-"* write`)
	for i := range 5 {
		for by, name := range map[string]string{web.GetText(): "web-%d", job.GetText(): "web-job-%d", db.GetText(): "db-%d"} {
			if _, err := m.CreateSession(as(t.Context(), by), &tenurev1.CreateSessionRequest{Name: fmt.Sprintf(name, i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	principal := func(made *tenurev1.CreateTokenResponse) string { return "token:" + made.GetToken().GetAccessor() }
	for sentence, c := range map[string]struct {
		by         string
		principals []string
		want       string // the names, or what is needed
	}{
		"an administrator lists one's":   {admin, []string{principal(job)}, "web-job-0 web-job-1 web-job-2 web-job-3 web-job-4"},
		"an administrator lists two's":   {admin, []string{principal(db), principal(plain)}, "db-0 db-1 db-2 db-3 db-4"},
		"one lists its own":              {web.GetText(), []string{principal(web)}, "web-0 web-1 web-2 web-3 web-4"},
		"a child lists its own":          {job.GetText(), []string{principal(job)}, "web-job-0 web-job-1 web-job-2 web-job-3 web-job-4"},
		"not its child's":                {web.GetText(), []string{principal(job)}, `session * read`},
		"not its own and another's":      {web.GetText(), []string{principal(web), principal(job)}, `session * read`},
		"not without one":                {web.GetText(), nil, `session * read`},
		"who lists all does not ask who": {db.GetText(), []string{principal(web)}, "admin read"},
		"nor for nobody's":               {db.GetText(), []string{"token:me"}, "admin read"},
		"but for its own":                {db.GetText(), []string{principal(db)}, "db-0 db-1 db-2 db-3 db-4"},
		"its own, without that right":    {plain.GetText(), []string{principal(plain)}, `session * read`},
		"of nobody there is none":        {admin, []string{"cert:nobody"}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			names, err := m.openedBy(t, c.by, c.principals...)
			if strings.HasSuffix(c.want, " read") {
				wantDenied(t, err, c.want)
			} else if got := strings.Join(names, " "); err != nil || got != c.want {
				t.Errorf("got %s, %v, want %s", got, err, c.want)
			}
		})
	}
}

// TestAFilterByOpenersIsChecked gives filters that no caller can mean, and one token of a page to another filter.
func TestAFilterByOpenersIsChecked(t *testing.T) {
	m := start(t)
	await(t, "the cluster has the version that principals need", func() bool {
		_, err := m.ListSessions(t.Context(), &tenurev1.ListSessionsRequest{Principals: []string{"token:a"}})
		return infoOf(err).GetReason() != "FEATURE_NOT_ENABLED"
	})
	for sentence, principals := range map[string][]string{
		"an empty principal":    {"token:a", ""},
		"too many":              slices.Repeat([]string{"token:a"}, 257),
		"one that is too long":  {strings.Repeat("a", 2049)},
		"a page of all of them": {"token:a"},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := &tenurev1.ListSessionsRequest{Principals: principals}
			if sentence == "a page of all of them" {
				for range 2 {
					m.openSession(t, "web")
				}
				page, err := m.ListSessions(t.Context(), &tenurev1.ListSessionsRequest{PageSize: 1})
				if err != nil || page.GetNextPageToken() == "" {
					t.Fatalf("got %v, %v, want a page with another behind it", page, err)
				}
				r.PageToken = page.GetNextPageToken()
			}
			_, err := m.ListSessions(t.Context(), r)
			reason := "INVALID_ARGUMENT"
			if r.GetPageToken() != "" {
				reason = "PAGE_TOKEN_INVALID"
			}
			wantError(t, err, codes.InvalidArgument, reason)
		})
	}
	most, err := m.ListSessions(t.Context(), &tenurev1.ListSessionsRequest{Principals: slices.Repeat([]string{"token:a"}, 256)})
	if err != nil || len(most.GetSessions()) != 0 {
		t.Errorf("as many as are allowed: got %v, %v", most, err)
	}
}
