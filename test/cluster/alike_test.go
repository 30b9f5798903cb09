package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// varying are fields whose values differ between two runs; that they are there must not.
var varying = regexp.MustCompile(`^(header|.*[rR]evision|fencingToken|token|place|.*Time|.*Left|by|since|time|resumeToken|nextPageToken|peerAddress)$`)

// plain returns an answer without what differs between runs.
func (c *client) plain(t *testing.T, answer any) string {
	t.Helper()
	var parts []string
	add := func(m proto.Message) {
		raw, err := protojson.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err = json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(c.mask(v))
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, string(out))
	}
	switch a := answer.(type) {
	case proto.Message:
		add(a)
	case []*tenurev1.AcquireLockResponse:
		for _, m := range a {
			add(m)
		}
	case []*tenurev1.CampaignResponse:
		for _, m := range a {
			add(m)
		}
	case []*tenurev1.ObserveResponse:
		for _, m := range a {
			add(m)
		}
	case []*tenurev1.WatchResponse:
		for _, m := range a {
			add(m)
		}
	default:
		t.Fatalf("answer of type %T", answer)
	}
	return strings.Join(parts, "\n")
}

// mask hides values that differ between runs.
func (c *client) mask(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if varying.MatchString(name) {
				v[name] = "*"
			} else {
				v[name] = c.mask(value)
			}
		}
		return v
	case []any:
		for i := range v {
			v[i] = c.mask(v[i])
		}
		return v
	case string:
		return c.text(v)
	default:
		return v
	}
}

// text hides a run's own names and ids.
func (c *client) text(s string) string {
	for name, id := range c.sessions {
		if id == "" { // It was not created.
			continue
		}
		s = strings.ReplaceAll(s, id, "<"+name+">")
	}
	return strings.NewReplacer(c.prefix, "<prefix>", c.node(), "<node>", c.nodeID, "<node id>").Replace(s)
}

// outcome returns how a call ended, without what differs between runs.
func (c *client) outcome(t *testing.T, answer any, err error) string {
	t.Helper()
	if err == nil {
		return c.plain(t, answer)
	}
	s := status.Convert(err)
	text := fmt.Sprintf("%v %s", s.Code(), numbers.ReplaceAllString(c.text(s.Message()), "N"))
	if info := rig.ErrorInfo(err); info != nil {
		var facts []string
		for name, value := range info.GetMetadata() {
			facts = append(facts, name+"="+numbers.ReplaceAllString(c.text(value), "N"))
		}
		slices.Sort(facts)
		text += fmt.Sprint(" ", info.GetReason(), facts)
	}
	return text
}

var numbers = regexp.MustCompile(`[0-9]+`)

// comparisonsMax is how often the members are compared again because the leader changed meanwhile, as on a machine that is
// loaded now and then.
const comparisonsMax = 5

func TestEveryMemberAnswersAlike(t *testing.T) {
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 3)
	c.AwaitRaised(ctx)
	verbs := slices.Concat(sessionVerbs(), keyVerbs(), lockVerbs(), queryVerbs(), catalogVerbs())
	if len(verbs) < 60 {
		t.Errorf("%d verbs are compared", len(verbs))
	}
	for range comparisonsMax {
		lead := c.Leader(ctx)
		before := termOf(ctx, t, lead)
		different := compareMembers(ctx, t, lead, followers(c, lead)[0], verbs)
		if c.Leader(ctx) == lead && termOf(ctx, t, lead) == before {
			for _, text := range different {
				t.Error(text)
			}
			return
		}
		t.Logf("%s does not lead any more: nothing was compared", lead.Name())
	}
	t.Fatalf("the leader changed in each of %d comparisons", comparisonsMax)
}

func termOf(ctx context.Context, t *testing.T, m *rig.Member) uint64 {
	t.Helper()
	s, err := m.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return s.GetHeader().GetTerm()
}

// compareMembers makes every call on the leader and on a follower and returns what is different, or wrong on both.
func compareMembers(ctx context.Context, t *testing.T, lead, follower *rig.Member, verbs []verb) (different []string) {
	t.Helper()
	run := termOf(ctx, t, lead) // No two comparisons are in the same term.
	leading, following := dial(t, lead, fmt.Sprintf("lead%d/", run)), dial(t, follower, fmt.Sprintf("follow%d/", run))
	for _, v := range verbs {
		answer, err := v.call(ctx, leading)
		want := leading.outcome(t, answer, err)
		answer, err = v.call(ctx, following)
		if got := following.outcome(t, answer, err); got != want {
			different = append(different, fmt.Sprintf("%s: the follower answers\n  %s\nthe leader\n  %s", v.name, got, want))
		}
		if strings.HasPrefix(want, "Internal") || strings.HasPrefix(want, "Unknown") || strings.HasPrefix(want, "Unavailable") {
			different = append(different, fmt.Sprintf("%s: the leader answers %s", v.name, want))
		}
	}
	return different
}
