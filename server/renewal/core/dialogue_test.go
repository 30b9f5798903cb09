package core

import (
	"slices"
	"testing"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/storage"
)

// want takes an event and compares what follows.
func (d *dialogue) want(event, want string) {
	d.t.Helper()
	if got := d.do(event); got != want {
		d.t.Errorf("%s: got %q, want %q", event, got, want)
	}
}

// sends returns how many verdicts the task sends.
func (d *dialogue) sends() int {
	d.t.Helper()
	task, ok := d.task.(Send)
	if !ok {
		d.t.Fatalf("the task is %T, want Send", d.task)
	}
	return len(task.Verdicts)
}

// TestAStreamEndsOnceAllIsAnswered ends streams while renewals wait: one that its client ends answers them first; a member's
// does not, because the member asks the next leader; and one that breaks ends at once.
func TestAStreamEndsOnceAllIsAnswered(t *testing.T) {
	t.Run("ended by a client", func(t *testing.T) {
		d := newDialogue(t, Config{SessionsMax: 8})
		d.enter("parked end")
		d.want("round", "settle 1 in 3, check 0")
		d.want("expiring", "parked")
		d.want("round", "settle 1 in 3, check 0")
		d.want("missing", "forget 1, send, 1 SESSION_EXPIRED")
		d.want("sent", "over")
	})
	t.Run("ended by a client while the leader is asked", func(t *testing.T) {
		d := newDialogue(t, Config{SessionsMax: 8})
		d.enter("far end")
		d.want("round", "")
		d.want("decided, round", "remember 1, send, 1 renewed for 1s")
		d.want("sent", "over")
	})
	t.Run("ended by a member", func(t *testing.T) {
		d := newDialogue(t, Config{Origin: Member})
		d.enter("parked end")
		d.want("round", "settle 1 in 3, check 0")
		d.want("expiring", "parked, over")
		d.want("closed", "release 1")
	})
	t.Run("broken", func(t *testing.T) {
		d := newDialogue(t, Config{SessionsMax: 8})
		d.enter("broken")
		d.want("round", "settle 1 in 3, check 0")
		d.want("expiring", "parked, over, with an error")
		d.want("closed", "release 1")
	})
}

// TestACallAsksAgain renews by a call while no leader is found, until its time is up.
func TestACallAsksAgain(t *testing.T) {
	d := newDialogue(t, Config{Origin: Call})
	d.enter("last")
	d.want("round", "prove")
	d.want("elsewhere", "release 1, relay 1")
	d.want("handed", "again")
	for range 3 {
		d.want("no leader, round", "wait")
		d.want("again", "prove")
		d.want("elsewhere", "release 1, relay 1")
		d.want("handed", "")
		d.now = d.now.Add(10 * time.Second)
	}
	d.want("no leader, round", "wait")
	d.now = d.now.Add(30 * time.Second)
	d.want("again", "prove")
	d.want("elsewhere", "release 1, send, 1 NO_LEADER")
	d.want("sent", "over")
}

// TestACallIsServedByTheMemberThatBecomesLeader renews by a call while no leader is found, and then this member leads.
func TestACallIsServedByTheMemberThatBecomesLeader(t *testing.T) {
	d := newDialogue(t, Config{Origin: Call})
	d.enter("waiting")
	d.want("again", "prove")
	d.want("proved", "settle 1 in 3, check 0")
	d.want("renewed", "send, 1 renewed for 1s")
	d.want("sent", "")
}

// TestABigMessageWaitsForRoom fills the window of a stream: the message that does not fit is received, and waits.
func TestABigMessageWaitsForRoom(t *testing.T) {
	d := newDialogue(t, Config{SessionsMax: 8})
	big := slices.Repeat([]byte{1}, RenewalsMax)
	slots := 1 + RenewalsMax/RenewalsPerSlot
	for _, taken := range []int{slots, slots} {
		if d.came(false, big...); d.s.slots != taken {
			t.Errorf("%d slots are taken, want %d", d.s.slots, taken)
		}
	}
	if d.s.MayRead() {
		t.Error("a stream is read while a message waits for room")
	}
	if d.round(); d.task != (Prove{}) {
		t.Fatalf("got task %T", d.task)
	}
	d.prove()
	d.settled(expiry.Superseded)
	for sent := 0; sent < RenewalsMax; d.step(Sent{}) {
		sent += d.sends()
	}
	if d.s.slots != slots || !d.s.MayRead() {
		t.Errorf("%d slots are taken, want those of the one that waited", d.s.slots)
	}
	d.came(false, big...)
	d.want("closed", "release 2048")
}

// TestARenewalThatIsRefusedIsNotRelayed renews with what is no id, with more sessions than the stream may renew, and with a
// session that it may.
func TestARenewalThatIsRefusedIsNotRelayed(t *testing.T) {
	d := newDialogue(t, Config{SessionsMax: 1})
	asked := d.ask(1, 2, 3)
	asked[0].Invalid = true
	m := d.s.Step(d.now, Came{Asked: asked}).Admit
	d.step(Admitted{Message: m})
	d.round()
	d.want("elsewhere", "release 3, relay 1")
	d.want("handed", "send, 1 SESSION_ID_INVALID, 3 LIMIT_EXCEEDED")
	d.want("sent", "again")
	d.want("decided, round", "remember 1, send, 2 renewed for 1s")
	d.want("sent", "")
	// The one that it renews it renews again, and no other.
	d.came(false, 2, 3)
	d.round()
	d.want("elsewhere", "release 2, relay 1")
	if r := d.relay[0]; r.ID != (storage.SessionID{2}) || !r.Proven {
		t.Errorf("got %+v, want the session that was renewed before", r)
	}
}

// TestWhoShowedTheSecretNeedNotShowItAgain renews without proof that the secret was shown.
func TestWhoShowedTheSecretNeedNotShowItAgain(t *testing.T) {
	d := newDialogue(t, Config{SessionsMax: 8})
	d.came(true, 1, 2)
	d.came(true, 1)
	d.round()
	d.want("proved", "settle 2 in 3, check 2")
	if task, ok := d.task.(Settle); ok {
		task.Refuse(1, tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG)
	}
	d.want("renewed", "remember 1, send, 1 renewed for 1s, 2 SESSION_SECRET_WRONG")
	d.want("sent", "settle 1 in 3, check 0") // The first message brought it.
	d.want("renewed", "send, 3 renewed for 1s")

	m := newDialogue(t, Config{Origin: Member})
	for range 2 {
		m.came(true, 1)
		m.round()
		m.want("proved", "settle 1 in 3, check 1") // Of a member every one is looked at.
		m.settled(expiry.Superseded)
		m.step(Sent{})
		m.round()
	}
}

// TestParkedRenewalsAreBounded parks as many renewals as a stream may, and one more.
func TestParkedRenewalsAreBounded(t *testing.T) {
	d := newDialogue(t, Config{Origin: Member})
	for range ParkedMax / RenewalsMax {
		d.came(false, slices.Repeat([]byte{1}, RenewalsMax)...)
		for d.round(); d.task != (Prove{}); d.step(Settled{}) {
		}
		d.prove()
		d.settled(expiry.Expiring)
	}
	d.one()
	d.round()
	d.settled(expiry.Expiring)
	d.want("proved", "settle 1 in 3, check 0")
	d.want("expiring", "release 1, send, 65537 TOO_MANY_REQUESTS")
	d.want("sent", "again, parked")
	d.round()
	d.settled(expiry.Superseded)
	told := 0
	for d.task != nil {
		told += d.sends()
		d.step(Sent{})
	}
	if told != ParkedMax {
		t.Errorf("%d of those that waited were answered, want %d", told, ParkedMax)
	}
}

// TestRenewalsOfAMemberAreSentOnce drives a carrier through every event.
func TestRenewalsOfAMemberAreSentOnce(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	renewals := func(n int) []*Relayed {
		all := make([]*Relayed, n)
		for i := range all {
			all[i] = &Relayed{At: i}
		}
		return all
	}
	decided := func(fx CarrierEffects) (at []int) {
		for _, d := range fx.Decided {
			at = append(at, d.At)
		}
		return at
	}
	c := NewCarrier()
	c.Step(now, Add{Renewals: renewals(3), Until: now.Add(time.Second)})
	if fx := c.Step(now, Fill{}); len(fx.Send) != 3 || fx.First != 1 {
		t.Errorf("got %d from %d on, want all", len(fx.Send), fx.First)
	}
	if fx := c.Step(now, Fill{}); len(fx.Send) != 0 {
		t.Errorf("got %d, want that each is sent once", len(fx.Send))
	}
	two := Answered{Answers: []Answer{{Number: 2}, {Number: 2}, {Number: 9}}}
	if got := decided(c.Step(now, two)); !slices.Equal(got, []int{1}) {
		t.Errorf("got %v decided, want the second, once", got)
	}
	c.Step(now, Broken{})
	if got := decided(c.Step(now, Answered{Answers: []Answer{{Number: 1}}})); len(got) > 0 {
		t.Errorf("got %v decided by a stream that is over", got)
	}
	if fx := c.Step(now, Fill{}); len(fx.Send) != 2 || fx.First != 4 || fx.Send[0].At != 0 || fx.Send[1].At != 2 {
		t.Errorf("got %v from %d on, want what has no verdict, in order, with new numbers", fx.Send, fx.First)
	}
	if got := decided(c.Step(now.Add(time.Second), Sweep{})); len(got) > 0 {
		t.Errorf("got %v decided too early", got)
	}
	late := c.Step(now.Add(time.Second+1), Sweep{})
	if got := decided(late); len(got) != 2 || late.Decided[0].Refused != tenurev1.ErrorReason_ERROR_REASON_NO_LEADER {
		t.Errorf("got %v decided, want both refused", late.Decided)
	}
	if got := decided(c.Step(now, Answered{Answers: []Answer{{Number: 4}, {Number: 5}}})); len(got) > 0 {
		t.Errorf("got %v decided twice", got)
	}
	for ev, reason := range map[Carriage]tenurev1.ErrorReason{
		LeadsHere{}: tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER, Stop{}: tenurev1.ErrorReason_ERROR_REASON_STOPPING,
	} {
		other := NewCarrier()
		other.Step(now, Add{Renewals: renewals(RenewalsMax + 1), Until: now})
		other.Step(now, Fill{})
		if fx := other.Step(now, ev); len(fx.Decided) != RenewalsMax+1 || fx.Decided[0].Refused != reason || other.Waiting() != 0 {
			t.Errorf("%T: %d decided, %d wait", ev, len(fx.Decided), other.Waiting())
		}
	}
	many := NewCarrier()
	many.Step(now, Add{Renewals: renewals(20), Until: now})
	many.Step(now, Fill{})
	if got := many.Step(now.Add(1), Sweep{}).Decided; !slices.IsSortedFunc(got, func(a, b Decision) int { return a.At - b.At }) || len(got) != 20 {
		t.Errorf("got %v refused, want all, in the order in which they were asked for", got)
	}
	c.Step(now, Stop{})
	if fx := c.Step(now, Add{Renewals: renewals(1)}); fx.Decided[0].Refused != tenurev1.ErrorReason_ERROR_REASON_STOPPING {
		t.Errorf("got %v, want that nothing is taken any more", fx.Decided)
	}
	full := NewCarrier()
	full.Step(now, Add{Renewals: renewals(CarriedMax), Until: now})
	if fx := full.Step(now, Add{Renewals: renewals(1)}); fx.Decided[0].Refused != tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS {
		t.Errorf("got %v, want that one more is too many", fx.Decided)
	}
}
