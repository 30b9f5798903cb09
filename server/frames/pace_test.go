package frames_test

import (
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// opens opens the client's windows by a byte, so many times.
func (r *rig) opens(times int) {
	for range times {
		_ = r.WriteWindowUpdate(1, 1)
	}
}

// takesBack begins calls and takes them back, so many.
func (r *rig) takesBack(first, calls int) {
	for i := range calls {
		id := uint32(2*(first+i) + 1)
		r.call(id)
		_ = r.WriteRSTStream(id, http2.ErrCodeCancel)
	}
}

// TestWhatIsSentTooOftenIsReadSlowly counts the time that it takes to read what a client sent.
func TestWhatIsSentTooOftenIsReadSlowly(t *testing.T) {
	tests := map[string]struct {
		client func(r *rig)
		passed time.Duration
	}{
		"as many as may come at once": {func(r *rig) { r.opens(updatesBurst) }, 0},
		"more than may come at once":  {func(r *rig) { r.opens(updatesBurst + 60) }, 60 * updateEvery},
		"after a time in which none came": {func(r *rig) {
			r.opens(updatesBurst)
			r.read()
			<-time.After(3 * updateEvery) // Of the bubble's clock.
			r.opens(5)
		}, 5 * updateEvery},
		"beside messages of its own": {func(r *rig) {
			r.opens(updatesBurst)
			for range 50 {
				r.send(1, false, framed(10))
				r.opens(2)
			}
		}, 0},
		"beside messages in parts": {func(r *rig) {
			r.opens(updatesBurst)
			for range 50 {
				r.send(1, false, framed(10)[:8])
				r.send(1, false, framed(10)[8:])
				r.opens(2)
			}
		}, 0},
		"because of what the server sent": {func(r *rig) {
			r.opens(updatesBurst)
			r.read()
			for range 4 * updatesBurst {
				_ = r.server.WriteData(1, false, make([]byte, 200))
				_ = r.server.WriteData(1, false, make([]byte, 312))
				r.opens(1)
				r.read()
			}
		}, 0},
		"because of single bytes that the server sent": {func(r *rig) {
			r.opens(updatesBurst)
			r.read()
			for range 20 {
				_ = r.server.WriteData(1, false, make([]byte, 1))
				r.opens(1)
				r.read()
			}
		}, 20 * updateEvery},
		"as many calls taken back as may be at once": {func(r *rig) { r.takesBack(1, resetsBurst) }, 0},
		"more calls taken back than may be at once":  {func(r *rig) { r.takesBack(1, resetsBurst+40) }, 40 * resetEvery},
		"calls taken back after a time in which none were": {func(r *rig) {
			r.takesBack(1, resetsBurst)
			r.read()
			<-time.After(3 * resetEvery)
			r.takesBack(1+resetsBurst, 5)
		}, 5 * resetEvery},
		"calls that end, each with a word of the server": {func(r *rig) {
			for id := uint32(3); id < 3+8*resetsBurst; id += 2 {
				r.call(id)
				r.send(id, true, framed(10))
				r.read()
				_ = r.server.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte("h"), EndHeaders: true, EndStream: true})
				_ = r.WriteRSTStream(id, http2.ErrCodeNo)
			}
		}, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, pieces := range [][]int{{1}, {3, 1, 4}, {1 << 16}} {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(pieces...)
					began := time.Now()
					r.call(1)
					tc.client(r)
					r.read()
					if passed := time.Since(began); passed != tc.passed || r.inner.closed || (r.meter.Rests() > 0) != (tc.passed > 0) {
						t.Errorf("in pieces of %v: %v passed in %d rests, want %v; closed: %v", pieces, passed, r.meter.Rests(), tc.passed, r.inner.closed)
					}
				})
			}
		})
	}
}

// TestAConnectionThatRestsIsClosedAtOnce closes one that is not read for a day.
func TestAConnectionThatRestsIsClosedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(1 << 20)
		began := time.Now()
		r.call(1)
		r.opens(updatesBurst + int(24*time.Hour/updateEvery))
		ended := make(chan struct{})
		go func() { defer close(ended); _, _ = r.conn.Read(make([]byte, 1<<20)) }()
		synctest.Wait()
		_ = r.conn.Close()
		<-ended
		if passed := time.Since(began); passed > 0 {
			t.Errorf("reading ends %v after the connection", passed)
		}
	})
}
