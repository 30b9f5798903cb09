package proposals

import (
	"errors"
	"slices"
	"testing"
	"time"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
)

var errTest = errors.New("broken")

// proposal returns one of a size, and where its outcome comes.
func proposal(size int) (*Proposal, <-chan Outcome) {
	decided := make(chan Outcome, 1)
	return &Proposal{Request: make([]byte, size), Decided: decided}, decided
}

// numbers are those of a message's proposals.
func numbers(m *peerv1.ProposeManyRequest) (all []uint64) {
	for _, p := range m.GetProposals() {
		all = append(all, p.GetNumber())
	}
	return all
}

func answer(n uint64) []*peerv1.NumberedAnswer { return []*peerv1.NumberedAnswer{{Number: n}} }

func TestWhatCameMeanwhileIsOneMessage(t *testing.T) {
	l, now := NewLedger(), time.Now()
	for range 100 {
		p, _ := proposal(100)
		l.Add(p)
	}
	if got := numbers(l.Fill(now)); len(got) != 100 || got[0] != 1 || got[99] != 100 {
		t.Errorf("got %v, want 1 to 100", got)
	}
	if got := l.Fill(now); got != nil {
		t.Errorf("got %v, want nothing: all is sent", got)
	}
}

func TestMessagesAreBounded(t *testing.T) {
	l, now := NewLedger(), time.Now()
	for _, size := range []int{messageBytes * 3, messageBytes / 2, messageBytes / 2, 1} {
		p, _ := proposal(size)
		l.Add(p)
	}
	for _, want := range [][]uint64{{1}, {2, 3}, {4}} {
		if got := numbers(l.Fill(now)); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	for range ProposalsMax + 1 {
		p, _ := proposal(0)
		l.Add(p)
	}
	if got := len(numbers(l.Fill(now))); got != ProposalsMax {
		t.Errorf("got %d proposals in a message, want %d", got, ProposalsMax)
	}
}

func TestTheTimeLeftIsSaid(t *testing.T) {
	l, now := NewLedger(), time.Now()
	for _, left := range []time.Duration{time.Second, -time.Second} {
		p, _ := proposal(1)
		p.Deadline = now.Add(left)
		l.Add(p)
	}
	p, _ := proposal(1)
	l.Add(p)
	m := l.Fill(now)
	for i, want := range []uint64{1000, 1, 0} {
		if got := m.GetProposals()[i].GetTimeoutMs(); got != want {
			t.Errorf("proposal %d: got %d ms, want %d", i+1, got, want)
		}
	}
}

func TestWhoLeavesBeforeItIsSentLeavesNothing(t *testing.T) {
	l, now := NewLedger(), time.Now()
	a, _ := proposal(1)
	b, _ := proposal(1)
	l.Add(a)
	l.Add(b)
	if l.Leave(a) {
		t.Error("got that it was sent, want that it was not")
	}
	if got := l.Fill(now); len(got.GetProposals()) != 1 || l.last != 1 || len(got.GetCancelled()) != 0 {
		t.Errorf("got %v, want only the other", got)
	}
}

func TestTheLeaderHearsWhoLeft(t *testing.T) {
	l, now := NewLedger(), time.Now()
	a, decided := proposal(1)
	l.Add(a)
	l.Fill(now)
	if !l.Leave(a) {
		t.Error("got that it was not sent, want that it was")
	}
	if got := l.Fill(now).GetCancelled(); !slices.Equal(got, []uint64{1}) {
		t.Errorf("got %v cancelled, want 1", got)
	}
	l.Answered(answer(1))
	l.Broken(errTest)
	if len(decided) != 0 {
		t.Errorf("got %v for who left", <-decided)
	}
}

func TestAnswersComeInAnyOrderAndOnce(t *testing.T) {
	l, now := NewLedger(), time.Now()
	a, one := proposal(1)
	b, two := proposal(1)
	l.Add(a)
	l.Add(b)
	l.Fill(now)
	l.Answered(slices.Concat(answer(2), answer(1), answer(1), answer(7), answer(0)))
	for want, decided := range map[uint64]<-chan Outcome{1: one, 2: two} {
		if got := (<-decided).Answer.GetNumber(); got != want {
			t.Errorf("got answer %d, want %d", got, want)
		}
	}
	// Who was answered leaves no word.
	if !l.Leave(a) || l.Fill(now) != nil {
		t.Error("the leader hears of a proposal that it answered")
	}
}

func TestABrokenStreamLeavesWhatWasSentUnknown(t *testing.T) {
	l, now := NewLedger(), time.Now()
	a, sent := proposal(1)
	b, unsent := proposal(1)
	l.Add(a)
	l.Fill(now)
	l.Add(b)
	l.Broken(errTest)
	if got := <-sent; !got.Sent || !errors.Is(got.Err, errTest) {
		t.Errorf("sent: got %+v, want that it may have been started", got)
	}
	if got := <-unsent; got.Sent || !errors.Is(got.Err, errTest) {
		t.Errorf("not sent: got %+v, want that it was not started", got)
	}
	if c, _ := proposal(1); l.Add(c) {
		t.Error("a broken stream takes proposals")
	}
}

func TestALeaderThatStopsSaysWhatItDidNotStart(t *testing.T) {
	l, now := NewLedger(), time.Now()
	var outcomes []<-chan Outcome
	for i := range 4 {
		p, decided := proposal(1)
		l.Add(p)
		if i < 3 {
			l.Fill(now)
		}
		outcomes = append(outcomes, decided)
	}
	l.Drained(2, errTest)
	for i, decided := range outcomes[2:] { // 3 was sent, 4 was not.
		if got := <-decided; got.Sent || !errors.Is(got.Err, errTest) {
			t.Errorf("%d: got %+v, want that it was not started", i+3, got)
		}
	}
	l.Answered(answer(1))
	l.Broken(errTest)
	if got := <-outcomes[0]; got.Answer == nil {
		t.Errorf("1: got %+v, want its answer", got)
	}
	if got := <-outcomes[1]; !got.Sent {
		t.Errorf("2: got %+v, want that it may have been started", got)
	}
	if c, _ := proposal(1); l.Add(c) {
		t.Error("a leader that stops gets proposals")
	}
}
