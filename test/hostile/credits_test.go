package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// lineWatches is how many watches a line of the attack has, of which none may be more than lines allow.
const lineWatches = 1000

// creditLines is how many lines abuse credits.
func creditLines(long bool) int {
	if long {
		return 16
	}
	return 3
}

// abuseCredits watches large values on many lines, with no credit, with more than there can be, and with a little; it gives credits to a million
// numbers that are no calls, and cancels everything. Then it has more waits than a line may have.
func abuseCredits(ctx context.Context, a *attacker) error {
	var all sync.WaitGroup
	failed := make(chan error, creditLines(true))
	for range creditLines(a.Long) {
		conn, err := a.dial(a.Members[0].GRPC)
		if err != nil {
			return err
		}
		all.Go(func() {
			l, err := openLine(ctx, conn)
			for round := range uint64(a.count(2, 8)) {
				if err != nil || a.over() {
					break
				}
				err = a.creditRound(l, round*10*lineWatches)
			}
			if err == nil {
				err = l.CloseSend()
			}
			failed <- err
		})
	}
	all.Wait()
	close(failed)
	var err error
	for one := range failed {
		err = errors.Join(err, one)
	}
	return err
}

// creditRound starts watches with odd credits, floods the line with more, and ends them.
func (a *attacker) creditRound(l hostileLine, above uint64) error {
	request := &tenurev1.LineRequest{}
	for n := range uint64(lineWatches) {
		c := &tenurev1.LineCall{Number: above + n + 1, Request: &tenurev1.LineCall_Watch{Watch: &tenurev1.WatchRequest{Prefixes: []string{"much/"}}}}
		switch n % 3 {
		case 0:
			c.CreditMessages, c.CreditBytes = math.MaxUint32, math.MaxUint64
		case 1:
			c.CreditMessages, c.CreditBytes = 1, 1
			c.GetWatch().Initial = n%10 == 1 // A few hold a snapshot until they are given up.
		default:
		}
		request.Calls = append(request.Calls, c)
	}
	if err := l.Send(request); err != nil {
		return err
	}
	for n := range uint64(20) { // 4 000 numbers each: with all lines of the long form a million.
		flood := &tenurev1.LineRequest{}
		for m := range uint64(4000) {
			number := math.MaxUint64 - n*4000 - m
			flood.Credits = append(flood.Credits, &tenurev1.LineCredit{Number: number, Messages: math.MaxUint32, Bytes: math.MaxUint64})
			flood.Cancels = append(flood.Cancels, number)
		}
		for range 96 {
			flood.Credits = append(flood.Credits, &tenurev1.LineCredit{Number: above + 1, Messages: math.MaxUint32, Bytes: math.MaxUint64})
		}
		if err := l.Send(flood); err != nil {
			return err
		}
	}
	end := &tenurev1.LineRequest{}
	for n := range uint64(lineWatches) {
		end.Cancels = append(end.Cancels, above+n+1)
	}
	if err := l.Send(end); err != nil {
		return err
	}
	if _, err := a.answersOf(l, lineWatches); err != nil {
		return err
	}
	return a.tooManyWatches(l, above+lineWatches)
}

// tooManyWatches asks for more watches than a line may have, and ends those that it got.
func (a *attacker) tooManyWatches(l hostileLine, above uint64) error {
	const most, more = 4096, 500
	request, end := &tenurev1.LineRequest{}, &tenurev1.LineRequest{}
	for n := range uint64(most) {
		request.Calls = append(request.Calls, &tenurev1.LineCall{Number: above + n + 1, Request: &tenurev1.LineCall_Watch{
			Watch: &tenurev1.WatchRequest{Keys: []string{"hostile/none"}},
		}})
		end.Cancels = append(end.Cancels, above+n+1)
	}
	beyond, endBeyond := &tenurev1.LineRequest{}, &tenurev1.LineRequest{}
	for n := range uint64(more) {
		beyond.Calls = append(beyond.Calls, &tenurev1.LineCall{Number: above + most + n + 1, Request: &tenurev1.LineCall_Observe{
			Observe: &tenurev1.ObserveRequest{Key: "hostile/none"},
		}})
		// It was taken if one of the first was refused, for its caller's share.
		endBeyond.Cancels = append(endBeyond.Cancels, above+most+n+1)
	}
	for _, m := range []*tenurev1.LineRequest{request, beyond, end, endBeyond} {
		if err := l.Send(m); err != nil {
			return err
		}
	}
	answers, err := a.answersOf(l, most+more)
	if err != nil {
		return err
	}
	refused := 0
	for _, answer := range answers {
		if codes.Code(answer.GetStatus().GetCode()) == codes.ResourceExhausted {
			refused++
		}
	}
	if refused < more {
		return fmt.Errorf("%d watches were refused, want the %d beyond the bound of a line at least", refused, more)
	}
	return nil
}
