package process

import (
	"errors"
	"testing"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
)

// glance is one look of a vigil's script.
type glance struct {
	at    time.Duration
	state tenure.State
	left  time.Duration
	want  string
}

func TestVigil(t *testing.T) {
	const (
		connected = tenure.StateConnected
		suspended = tenure.StateSuspended
		jeopardy  = tenure.StateJeopardy
	)
	lock := Stake{Text: `the lock on "a" is safe`, command: true, grace: 5 * time.Second}
	place := Stake{Text: "the place in the queue is kept"}
	s := time.Second
	for name, test := range map[string]struct {
		ttl    time.Duration
		stake  Stake
		script []glance
	}{
		"nothing is told while renewals come": {15 * s, lock, []glance{
			{0, connected, 14 * s, ""},
			{5 * s, connected, 9 * s, ""},
			{6 * s, connected, 14 * s, ""},
		}},
		"a link that is lost is told, with the end of the lease, and what becomes of the command": {15 * s, lock, []glance{
			{0, connected, 14 * s, ""},
			{1 * s, suspended, 13 * s, ""},
			{2 * s, suspended, 12 * s, ""},
			{
				2500 * time.Millisecond, suspended, 11500 * time.Millisecond,
				`The cluster does not answer; the lock on "a" is safe until 2026-11-21T10:00:14Z (11.5s more). ` +
					`Without an answer the command is terminated in 6.5s.`,
			},
			{3 * s, suspended, 11 * s, ""},
			{4 * s, connected, 14 * s, `The cluster answers again; the lock on "a" is safe.`},
			{5 * s, connected, 13 * s, ""},
		}},
		"a link that is back at once is not worth a word": {15 * s, lock, []glance{
			{0, suspended, 14 * s, ""},
			{1 * s, connected, 14 * s, ""},
			{2 * s, suspended, 13 * s, ""},
			{3 * s, suspended, 12 * s, ""},
		}},
		"a member that stands still is told when a renewal is overdue, before the link is given up": {15 * s, place, []glance{
			{0, connected, 14 * s, ""},
			{7 * s, connected, 7700 * time.Millisecond, ""},
			{
				8 * s, connected, 7500 * time.Millisecond,
				`The cluster does not answer; the place in the queue is kept until 2026-11-21T10:00:15Z (7.5s more). Still trying.`,
			},
			{9 * s, suspended, 6500 * time.Millisecond, ""},
			{16 * s, jeopardy, 0, "The cluster did not answer in time: the session may have expired. Still trying."},
			{17 * s, jeopardy, 0, ""},
			{18 * s, connected, 14 * s, "The cluster answers again; the place in the queue is kept."},
		}},
		"a short TTL leaves time between the word and the end of the command": {
			2 * s,
			Stake{Text: "x is safe", command: true, grace: 666 * time.Millisecond},
			[]glance{
				{0, connected, 1100 * time.Millisecond, ""},
				{0, connected, time.Second, "The cluster does not answer; x is safe until 2026-11-21T10:00:01Z (1s more). " +
					"Without an answer the command is terminated in 300ms."},
			},
		},
		"a long TTL does not make it late": {90 * s, place, []glance{
			{0, connected, 76 * s, ""},
			{0, connected, 75 * s, "The cluster does not answer; the place in the queue is kept until 2026-11-21T10:01:15Z (1m15s more). Still trying."},
		}},
		"without TTL nothing ends": {0, Stake{Text: "session 1 is alive"}, []glance{
			{0, suspended, 0, ""},
			{2 * s, suspended, 0, "The cluster does not answer; session 1 is alive. Still trying."},
			{3 * s, connected, 0, "The cluster answers again; session 1 is alive."},
		}},
		"the loss of a command's lease is told by who ends it": {15 * s, lock, []glance{
			{0, jeopardy, 0, ""},
			{1 * s, jeopardy, 0, ""},
		}},
		"an end of the session is told by who depends on it": {15 * s, lock, []glance{
			{0, tenure.StateClosed, 0, ""},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			v := &Vigil{ttl: test.ttl, stake: test.stake}
			begin := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
			for _, g := range test.script {
				if got := v.look(begin.Add(g.at), g.state, g.left, nil); got != g.want {
					t.Errorf("at %v\ngot:  %s\nwant: %s", g.at, got, g.want)
				}
			}
		})
	}
}

func TestAVigilTellsARefusalFromSilence(t *testing.T) {
	refusal := errors.New("not allowed: no such token")
	begin := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	s := time.Second
	for name, test := range map[string]struct {
		stake  Stake
		refuse string
		ended  string
	}{
		"a command": {
			Stake{Text: "x is safe", command: true, grace: 5 * s},
			"Renewals are refused: not allowed: no such token; x is safe until 2026-11-21T10:00:14Z (13s more). " +
				"Unless that changes, the command is terminated in 8s.", "",
		},
		"a place": {
			Stake{Text: "the place is kept"},
			"Renewals are refused: not allowed: no such token; the place is kept until 2026-11-21T10:00:14Z (13s more). Still trying.",
			"Renewals were refused for too long: the session may have expired. Still trying.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := &Vigil{ttl: 15 * s, stake: test.stake}
			for i, g := range []struct {
				state   tenure.State
				left    time.Duration
				refusal error
				want    string
			}{
				{tenure.StateConnected, 14 * s, nil, ""},
				{tenure.StateConnected, 13 * s, refusal, test.refuse},
				{tenure.StateConnected, 12_900 * time.Millisecond, refusal, ""}, // Its session is suspended a while later.
				{tenure.StateSuspended, 12 * s, refusal, ""},
				{tenure.StateSuspended, 11 * s, nil, ""}, // The next attempt is under way.
				{tenure.StateSuspended, 10 * s, refusal, ""},
				{tenure.StateConnected, 14 * s, nil, "Renewals are accepted again; " + test.stake.Text + "."},
				{tenure.StateConnected, 13 * s, refusal, "*"},
				{tenure.StateJeopardy, 0, refusal, test.ended},
				{tenure.StateJeopardy, 0, refusal, ""},
			} {
				if got := v.look(begin.Add(time.Duration(i)*s), g.state, g.left, g.refusal); got != g.want && (g.want != "*" || got == "") {
					t.Errorf("look %d\ngot:  %s\nwant: %s", i, got, g.want)
				}
			}
		})
	}
}
