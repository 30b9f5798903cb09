package gossip

import (
	"testing"
	"time"
)

// script is what happens to a view, in order.
type script func(v *View, now *time.Time)

var web = KeyOf([16]byte{1}, "Web1")

const webAddress = "10.0.0.1:7403"

func saw(number uint64, s State, heard bool) script {
	return func(v *View, now *time.Time) {
		v.Note(Node{Key: web, Name: "Web1", Address: webAddress, State: s, Since: *now}, number, heard)
	}
}

// after lets time pass without a stall.
func after(d time.Duration) script {
	return func(v *View, now *time.Time) {
		for end := now.Add(d); now.Before(end); {
			*now = now.Add(lookEvery)
			v.Look(*now)
		}
	}
}

func stall(d time.Duration) script {
	return func(v *View, now *time.Time) {
		*now = now.Add(d)
		v.Look(*now)
	}
}

func ping(number uint64) script { return func(v *View, _ *time.Time) { v.Heard(web, number) } }

func leaves(number uint64) script {
	return func(v *View, now *time.Time) { v.Leave(web, number, *now) }
}

func otherAt(address string) script {
	return func(v *View, now *time.Time) {
		v.Note(Node{Key: KeyOf([16]byte{2}, "web2"), Address: address, State: Alive, Since: *now}, 1, true)
	}
}

func namesakeAt(address string, state State) script {
	return func(v *View, now *time.Time) {
		v.Note(Node{Key: KeyOf([16]byte{2}, "web1"), Address: address, State: state, Since: *now}, 1, true)
	}
}

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		steps []script
		want  Verdict
		state State
	}{
		"one never seen may be well":                                      {nil, SaysAlive, Unknown},
		"one never seen in 90 s is dialed":                                {[]script{after(91 * time.Second)}, MustDial, Unknown},
		"one never seen whose address another has is gone":                {[]script{otherAt(webAddress), after(91 * time.Second)}, SaysFailed, Unknown},
		"one never seen whose name and address another has is gone":       {[]script{namesakeAt(webAddress, Alive)}, SaysFailed, Unknown},
		"one never seen whose name another has on its host is dialed":     {[]script{namesakeAt("10.0.0.1:9", Alive)}, MustDial, Unknown},
		"one never seen whose name another has elsewhere may be well":     {[]script{namesakeAt("10.0.0.2:7403", Alive)}, SaysAlive, Unknown},
		"one never seen whose address another had may be well":            {[]script{namesakeAt(webAddress, Failed)}, SaysAlive, Unknown},
		"one never seen whose address another has may be well":            {[]script{otherAt(webAddress)}, SaysAlive, Unknown},
		"one that is alive whose name and address another has is":         {[]script{saw(1, Alive, true), namesakeAt(webAddress, Alive)}, SaysAlive, Alive},
		"one that is alive is":                                            {[]script{saw(1, Alive, true)}, SaysAlive, Alive},
		"one seen alive, then dead, failed":                               {[]script{saw(1, Alive, true), saw(1, Failed, false)}, SaysFailed, Failed},
		"one that left is gone":                                           {[]script{saw(1, Alive, true), saw(1, Left, false)}, SaysFailed, Left},
		"one heard to be dead only may be well":                           {[]script{saw(1, Failed, false)}, SaysAlive, Failed},
		"one that lives under a later boot is alive":                      {[]script{saw(1, Alive, true), saw(2, Alive, true), saw(1, Failed, false)}, SaysAlive, Alive},
		"one that lives under an earlier boot is alive":                   {[]script{saw(2, Failed, false), saw(1, Alive, true)}, SaysAlive, Alive},
		"one killed and restarted that leaves is gone at once":            {[]script{saw(1, Alive, true), saw(2, Alive, true), leaves(2), saw(2, Failed, false)}, SaysFailed, Left},
		"so it is if its word comes after memberlist's":                   {[]script{saw(1, Alive, true), saw(2, Alive, true), saw(2, Failed, false), leaves(2)}, SaysFailed, Left},
		"so it stays when the killed start is dead, too":                  {[]script{saw(1, Alive, true), saw(2, Alive, true), leaves(2), saw(2, Failed, false), saw(1, Failed, false)}, SaysFailed, Left},
		"so it stays when others repeat the killed start":                 {[]script{saw(1, Alive, true), saw(2, Alive, true), leaves(2), saw(2, Failed, false), saw(1, Alive, false)}, SaysFailed, Left},
		"an earlier start that answers, then dies, failed":                {[]script{saw(1, Alive, true), saw(2, Alive, true), leaves(2), saw(2, Failed, false), ping(1), saw(1, Failed, false)}, SaysFailed, Failed},
		"one killed twice that leaves is gone at once":                    {[]script{saw(1, Alive, true), saw(2, Alive, true), saw(3, Alive, true), leaves(3), saw(3, Failed, false)}, SaysFailed, Left},
		"one that leaves and is restarted is alive":                       {[]script{saw(1, Alive, true), saw(2, Alive, true), leaves(2), saw(2, Failed, false), saw(3, Alive, true)}, SaysAlive, Alive},
		"the late word of an earlier start ends nobody":                   {[]script{saw(1, Alive, true), saw(2, Alive, true), saw(1, Failed, false), leaves(1)}, SaysAlive, Alive},
		"the late word of a start with a higher number ends nobody":       {[]script{saw(9, Alive, true), saw(5, Alive, true), saw(9, Failed, false), leaves(9)}, SaysAlive, Alive},
		"the word of a start never seen ends nobody":                      {[]script{saw(1, Alive, true), leaves(2)}, SaysAlive, Alive},
		"the word of a start counts before memberlist knows":              {[]script{saw(1, Alive, true), leaves(1)}, SaysFailed, Left},
		"late news of a start that left do not bring it back":             {[]script{saw(1, Alive, true), leaves(1), saw(1, Alive, true), ping(1)}, SaysFailed, Left},
		"the word of a start never seen counts once it is seen":           {[]script{saw(1, Alive, true), leaves(2), saw(2, Alive, true)}, SaysFailed, Left},
		"so it does once the earlier start is dead":                       {[]script{saw(1, Alive, true), leaves(2), saw(1, Failed, false)}, SaysFailed, Left},
		"so it does if the earlier start was dead before":                 {[]script{saw(1, Alive, true), saw(1, Failed, false), leaves(2)}, SaysFailed, Left},
		"beside a start that has left it changes nothing":                 {[]script{saw(1, Alive, true), saw(3, Alive, true), leaves(3), leaves(4)}, SaysFailed, Left},
		"nor does it count when only a later start dies":                  {[]script{saw(1, Alive, true), saw(5, Alive, true), leaves(3), saw(5, Failed, false)}, SaysAlive, Alive},
		"it does not if the earlier start answers":                        {[]script{saw(1, Alive, true), leaves(2), ping(1), saw(1, Failed, false)}, SaysFailed, Failed},
		"nor if a start with a higher number lives":                       {[]script{saw(5, Alive, true), leaves(2), saw(5, Failed, false)}, SaysFailed, Failed},
		"nor for a node of which nothing is known":                        {[]script{leaves(2)}, SaysAlive, Unknown},
		"one that left and is restarted is alive":                         {[]script{saw(1, Alive, true), leaves(2), saw(3, Alive, true)}, SaysAlive, Alive},
		"a later start that only fails says nothing of the earlier one":   {[]script{saw(1, Alive, true), saw(2, Alive, true), saw(2, Failed, false)}, SaysAlive, Alive},
		"an earlier start that answered since is alive":                   {[]script{saw(1, Alive, true), saw(2, Alive, true), ping(1), leaves(2), saw(2, Failed, false)}, SaysAlive, Alive},
		"an earlier start that answers after the later one left is alive": {[]script{saw(1, Alive, true), saw(2, Alive, true), leaves(2), saw(2, Failed, false), ping(1)}, SaysAlive, Alive},
		"one that left, came back with a lower number and failed, failed": {[]script{saw(9, Alive, true), leaves(9), saw(9, Failed, false), saw(5, Alive, true), saw(5, Failed, false)}, SaysFailed, Failed},
		"so it is while a start from before is not yet dead":              {[]script{saw(4, Alive, true), saw(9, Alive, true), leaves(9), saw(9, Failed, false), saw(3, Alive, true), saw(3, Failed, false)}, SaysFailed, Failed},
		"a killed start from before one that left does not count":         {[]script{saw(4, Alive, true), saw(9, Alive, true), leaves(9), saw(9, Failed, false), saw(3, Alive, true), saw(3, Failed, false)}, SaysFailed, Failed},
		"one dead after a stall may be well":                              {[]script{saw(1, Alive, true), stall(2 * time.Second), saw(1, Failed, false)}, SaysAlive, Failed},
		"one dead long after a stall is dialed":                           {[]script{saw(1, Alive, true), stall(2 * time.Second), saw(1, Failed, false), after(91 * time.Second)}, MustDial, Failed},
		"one that answered after the stall, then dead, is":                {[]script{saw(1, Alive, true), stall(2 * time.Second), ping(1), saw(1, Failed, false)}, SaysFailed, Failed},
		"a short delay is not a stall":                                    {[]script{saw(1, Alive, true), stall(time.Second), saw(1, Failed, false)}, SaysFailed, Failed},
		"one that is gone for long is forgotten, not failed":              {[]script{saw(1, Alive, true), saw(1, Failed, false), func(v *View, now *time.Time) { v.forget(now.Add(forgetAfter + 1)) }}, SaysAlive, Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1, 0)
			v := NewView(now)
			for _, step := range c.steps {
				step(v, &now)
			}
			if got := v.Judge(Asked{Key: web, Address: webAddress}, now); got != c.want {
				t.Errorf("got verdict %d, want %d", got, c.want)
			}
			if got := v.state(web); got != c.state {
				t.Errorf("got state %v, want %v", got, c.state)
			}
		})
	}
}

// One that cannot be dialed must be heard of.
func TestJudgeWithoutAddress(t *testing.T) {
	for name, c := range map[string]struct {
		steps []script
		want  Verdict
	}{
		"one never seen may be well":           {[]script{after(89 * time.Second)}, SaysAlive},
		"one never seen in 90 s has failed":    {[]script{after(91 * time.Second)}, SaysFailed},
		"so it has only long after a stall":    {[]script{after(91 * time.Second), stall(2 * time.Second)}, SaysAlive},
		"one that was not gone then is alive":  {[]script{saw(1, Alive, false), after(91 * time.Second)}, SaysAlive},
		"one that was dead all the time is so": {[]script{saw(1, Failed, false), after(91 * time.Second)}, SaysFailed},
	} {
		now := time.Unix(1, 0)
		v := NewView(now)
		for _, step := range c.steps {
			step(v, &now)
		}
		if got := v.Judge(Asked{Key: web}, now); got != c.want {
			t.Errorf("%s: got verdict %d, want %d", name, got, c.want)
		}
	}
}

// What is remembered is bounded, whatever comes.
func TestViewIsBounded(t *testing.T) {
	now := time.Unix(1, 0)
	v := NewView(now)
	for i := range uint64(1000) {
		saw(i, Alive, true)(v, &now)
		saw(i, Failed, false)(v, &now)
	}
	if got := len(v.nodes[web]); got > bootsMax+1 {
		t.Errorf("got %d boots of one node, want at most %d", got, bootsMax+1)
	}
	for i := range nodesMax + 10 {
		id := [16]byte{3, byte(i), byte(i >> 8), byte(i >> 16)}
		v.Note(Node{Key: KeyOf(id, "x"), State: Failed, Since: now.Add(time.Duration(i))}, 1, false)
	}
	v.forget(now)
	if got := len(v.nodes); got > nodesMax {
		t.Errorf("got %d nodes, want at most %d", got, nodesMax)
	}
}
