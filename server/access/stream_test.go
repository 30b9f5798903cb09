package access

import (
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// TestAStreamThatIsNotDecidedAboutYetIsNotEnded opens streams before and after rules are enforced, and looks at them before and after their first
// message: only one about which nothing was decided, as there were no rules, is ended.
func TestAStreamThatIsNotDecidedAboutYetIsNotEnded(t *testing.T) {
	node, a, _ := enforcing(t, storev1.AuthMode_AUTH_MODE_OFF)
	reviews := a.Reviews()
	type opened struct {
		message func() error
		ended   error
	}
	open := func() *opened {
		o := &opened{}
		ctx, stream := a.Open(t.Context(), admin, tenurev1.WatchService_Watch_FullMethodName, func(err error) { o.ended = err })
		t.Cleanup(stream.Close)
		o.message = func() error { return stream.Message(ctx, &tenurev1.WatchRequest{}) }
		return o
	}
	before, between := open(), open()
	if err := before.message(); err != nil {
		t.Fatal(err)
	}
	node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_SetMode{SetMode: storev1.AuthMode_AUTH_MODE_ENFORCE}})
	after := open()
	reviews.Next(t.Context())
	if e := reason.Of(before.ended); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED {
		t.Errorf("one from before there were rules: got %v, want RIGHTS_CHANGED", before.ended)
	}
	for what, o := range map[string]*opened{"one that was opened before, and": between, "one that was opened after, and": after} {
		if o.ended != nil {
			t.Errorf("%s has no message yet: ended with %v", what, o.ended)
		}
		if err := o.message(); err != nil {
			t.Errorf("%s gets its message now: %v", what, err)
		}
	}
	reviews.Next(t.Context())
	if between.ended != nil || after.ended != nil {
		t.Errorf("those that are allowed: ended with %v and %v", between.ended, after.ended)
	}
}
