package fault_test

import (
	"slices"
	"testing"
	"time"

	"github.com/tenure-io/tenure/test/rig"
)

// Links between members fail one way, break, and are slow, while clients work: what is answered stays true, and work goes
// on as soon as a majority hears each other.
func TestLinksFail(t *testing.T) {
	if testing.Short() {
		t.Skip("killed leaders and a rolling restart are enough with -short")
	}
	ctx := t.Context()
	rounds := 1
	if long {
		rounds = 8
	}
	c := rig.StartLinkedCluster(ctx, t, binary, 3)
	w := startCrowd(t, c.Members, 24)
	links := func(m *rig.Member) *rig.Proxy { return c.Links[slices.Index(c.Members, m)] }
	for range rounds {
		w.settle(t, 200)
		deaf := links(c.Leader(ctx)) // It speaks, and hears nobody.
		deaf.Block("in")
		w.settle(t, 200)
		deaf.Heal()

		w.settle(t, 100)
		leader := c.Leader(ctx)
		other := links(without(c.Members, leader)[0])
		other.Block("in")
		w.settle(t, 300)
		other.Heal()

		for range 10 {
			for _, l := range c.Links {
				l.Cut()
			}
			w.settle(t, 20)
		}

		for _, l := range c.Links {
			l.Slow(60*time.Millisecond, 80*time.Millisecond)
		}
		w.settle(t, 60)
		for _, l := range c.Links {
			l.Heal()
		}

		// Nobody hears anybody: nothing can be decided, and nothing is lost when they hear each other again.
		for _, l := range c.Links {
			l.Block("both")
		}
		wait(ctx, 3*time.Second)
		for _, l := range c.Links {
			l.Heal()
		}
		w.settle(t, 100)
	}
	w.stop()
	report := judge(t, c, w.rec, w.seen)
	t.Logf("%d rounds of one-way, cut and slow links; the longest pause in writes was %v\n%s",
		rounds, w.rec.longestPause.Round(time.Millisecond), report)
	floors(t, report, map[string]int{"linearizable operations": 500, "replay revisions": 500, "ttl renewals": 20})
}
