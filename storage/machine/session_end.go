package machine

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/nodes"
	"github.com/tenure-io/tenure/storage/records"
	"github.com/tenure-io/tenure/storage/requests"
	"github.com/tenure-io/tenure/storage/table"
)

// sessionEnd says how sessions end.
type sessionEnd struct {
	cause     storev1.SessionEndCause
	holdCause storev1.HoldEndCause
	reason    string
	by        string
	clean     bool
	// revision and timeMs are those of the mark that ended a session before; zero: the command's own.
	revision uint64
	timeMs   int64
}

// endingSession is a session at its end, with all it has.
type endingSession struct {
	session
	how     sessionEnd
	holds   []layout.Listed
	places  []layout.Listed
	keys    []layout.Name
	queries []layout.QueryID
}

// endSessions is the end of sessions, for whatever cause: in one revision all are marked ended, their places dropped,
// what they hold freed or deleted, their ephemeral keys and prepared queries deleted, and then the next waiters granted.
func (c sessionVerbs) endSessions(ids []layout.SessionID, how sessionEnd) (*storev1.Result, error) {
	out := &storev1.EndSessionsResult{}
	ending, err := c.gatherEnding(ids, how, out)
	if err != nil {
		return nil, err
	}
	if err = c.endGathered(ending, out); err != nil {
		return nil, err
	}
	return &storev1.Result{Kind: &storev1.Result_EndSessions{EndSessions: out}}, nil
}

// endGathered ends sessions whose objects are known.
func (c sessionVerbs) endGathered(ending []*endingSession, out *storev1.EndSessionsResult) error {
	for _, s := range ending {
		if err := c.markEnded(s, s.how); err != nil {
			return err
		}
		out.EndedSessionIds = append(out.EndedSessionIds, s.id[:])
		out.Holds += uint32(len(s.holds))
	}
	left := requests.ForgetStint()
	if c.state.ClusterVersion < layout.Version2 {
		left = &table.Stint{Rows: len(ending) + forgettingMax1, Bytes: math.MaxUint64}
	}
	if _, err := c.forgetEnded(left); err != nil {
		return err
	}
	for _, s := range ending {
		if err := c.dropPlaces(s); err != nil {
			return err
		}
	}
	for _, s := range ending {
		if err := c.dropHolds(s, s.how); err != nil {
			return err
		}
	}
	for _, s := range ending {
		for _, n := range s.keys {
			if err := c.keys.deleteKey(n, s.id[:]); err != nil {
				return err
			}
		}
	}
	for _, s := range ending {
		for _, query := range s.queries {
			if err := c.queries.DeleteWith(query, s.id); err != nil {
				return err
			}
		}
	}
	if err := c.queue.grantTouched(); err != nil {
		return err
	}
	out.GrantsLeft = c.state.GrantsLeft > 0
	return nil
}

// gatherEnding finds what the sessions have. Those that do not live are counted; those that would make the command too
// large are left, but never the first.
func (c sessionVerbs) gatherEnding(ids []layout.SessionID, how sessionEnd, out *storev1.EndSessionsResult) ([]*endingSession, error) {
	g := newGathering(c)
	for _, id := range ids {
		switch took, err := g.take(id, how); {
		case err != nil:
			return nil, err
		case took == takenMissing:
			out.Missing++
		case took == takenNot:
			out.LeftSessionIds = append(out.LeftSessionIds, bytes.Clone(id[:]))
		}
	}
	return g.ending, nil
}

// unbound says how a session ends that loses what it is bound to.
func unbound(e nodes.End) sessionEnd {
	return sessionEnd{
		cause: e.Cause, holdCause: storev1.HoldEndCause_HOLD_END_CAUSE_CHECK_FAILED, revision: e.Revision, timeMs: e.TimeMs,
	}
}

// endBound ends the sessions that lose what they are bound to by the command, as many as it may; with marks, also those that
// earlier commands have left over. It returns how many.
func (c sessionVerbs) endBound(marks bool) (uint32, error) {
	g := newGathering(c)
	err := c.catalog.EndBound(marks, func(id layout.SessionID, how nodes.End) (bool, error) {
		took, err := g.take(id, unbound(how))
		return took != takenNot, err
	})
	if err != nil || len(g.ending) == 0 {
		return 0, err
	}
	return uint32(len(g.ending)), c.endGathered(g.ending, &storev1.EndSessionsResult{})
}

// taken says what became of a session that a command is to end.
type taken int

const (
	takenNow     taken = iota // it ends with the command
	takenBefore               // it was named before
	takenMissing              // it does not live
	takenNot                  // it would make the command too large
)

// gathering is the sessions that a command ends, as many as it may.
type gathering struct {
	sessionVerbs
	ending        []*endingSession
	seen          map[layout.SessionID]bool
	objects, most uint64
}

func newGathering(c sessionVerbs) *gathering {
	g := &gathering{sessionVerbs: c, seen: map[layout.SessionID]bool{}, most: endObjectsMax}
	if c.state.ClusterVersion < layout.Version2 {
		g.most = endObjectsMax1
	} else if c.state.ClusterVersion < layout.Version3 {
		g.most = endObjectsMax2
	}
	return g
}

// take finds what a session has, unless that would make the command too large. A session that the end list has marked ends as
// its mark says.
func (g *gathering) take(id layout.SessionID, how sessionEnd) (taken, error) {
	if g.seen[id] {
		return takenBefore, nil
	}
	g.seen[id] = true
	r, err := g.sessionRecord(id)
	if err != nil {
		return 0, err
	}
	if r == nil {
		return takenMissing, nil
	}
	n, err := g.sessionVerbs.objects(id)
	if err != nil {
		return 0, err
	}
	size := n + uint64(len(records.SubjectsOf(r)))
	if len(g.ending) > 0 && g.objects+size > g.most {
		return takenNot, nil
	}
	g.objects += size
	r = proto.CloneOf(r) // The one that was read is shared.
	r.Objects = uint32(n)
	s := &endingSession{session: session{id: id, record: r}, how: how}
	mark, err := g.catalog.Marked(r)
	if err != nil {
		return 0, err
	}
	if mark != nil {
		s.how = unbound(nodes.EndOf(mark))
	}
	if err := g.gatherObjects(s); err != nil {
		return 0, err
	}
	g.ending = append(g.ending, s)
	return takenNow, nil
}

// gatherObjects finds what one session has, by its own rows alone.
func (c sessionVerbs) gatherObjects(s *endingSession) error {
	from := layout.ObjectRows(s.id)
	return c.rows.Scan(from, layout.RowsEnd(from), func(row, value []byte) (bool, error) {
		o, ok := layout.CutObjectRow(row)
		numbered := o.Kind == layout.ObjectHold || o.Kind == layout.ObjectPlace
		if !ok || numbered && len(value) != 8 {
			return false, fmt.Errorf("%w: object of session %s", layout.ErrCorrupt, s.id)
		}
		switch o.Kind {
		case layout.ObjectHold:
			s.holds = append(s.holds, layout.Listed{Object: o, Number: binary.BigEndian.Uint64(value)})
		case layout.ObjectPlace:
			s.places = append(s.places, layout.Listed{Object: o, Number: binary.BigEndian.Uint64(value)})
		case layout.ObjectQuery:
			s.queries = append(s.queries, o.Query)
		default:
			s.keys = append(s.keys, o.Name)
		}
		return true, nil
	})
}

// markEnded turns a live session into the record of an ended one.
func (c sessionVerbs) markEnded(s *endingSession, how sessionEnd) error {
	c.rows.Remove(layout.SessionRow(layout.RowSession, s.id))
	c.rows.Remove(layout.SessionRow(layout.RowObjects, s.id))
	c.catalog.Unbind(s.id, s.record)
	c.state.Sessions--
	shown := proto.CloneOf(s.record)
	shown.SecretSha256 = nil
	r := &storev1.EndedSessionRecord{
		FormatVersion: layout.RecordFormat,
		SessionId:     s.id[:],
		Session:       shown,
		Cause:         how.cause,
		Reason:        how.reason,
		By:            how.by,
		EndRevision:   cmp.Or(how.revision, c.revision),
		EndTimeMs:     cmp.Or(how.timeMs, c.wallMs),
		Holds:         uint32(len(s.holds)),
		Places:        uint32(len(s.places)),
		EphemeralKeys: uint32(len(s.keys)),
		Clean:         how.clean,
	}
	for _, h := range s.holds[:min(len(s.holds), heldKeysShown)] {
		r.HeldKeys = append(r.HeldKeys, h.Name.Key)
	}
	if err := c.recordEnded(s.id, r); err != nil {
		return err
	}
	if err := c.keeper.BuryWindow(s.id, s.record.GetEpoch()); err != nil {
		return err
	}
	ended := &storev1.SessionEnded{
		SessionId:     s.id[:],
		Name:          s.record.GetName(),
		Cause:         how.cause,
		Reason:        how.reason,
		Holds:         r.GetHolds(),
		EphemeralKeys: r.GetEphemeralKeys(),
	}
	if c.saysWhose() {
		ended.Node, ended.Principal = s.record.GetNode(), s.record.GetPrincipal()
	}
	c.emit(&storev1.Event{Kind: &storev1.Event_SessionEnded{SessionEnded: ended}})
	return nil
}

// recordEnded keeps the record of an ended session.
func (c sessionVerbs) recordEnded(id layout.SessionID, r *storev1.EndedSessionRecord) error {
	value, err := layout.Encode(r)
	if err != nil {
		return err
	}
	number := c.state.EndedSessions
	c.state.EndedSessions++
	c.rows.Set(layout.NumberRow(layout.RowEnded, number), value)
	c.rows.Set(layout.SessionRow(layout.RowEndedIndex, id), layout.AppendUint64s(nil, number))
	return nil
}

// forgettingMax1 is how many more records than it makes a command forgets under version 1, after the limit was lowered.
const forgettingMax1 = 16

// forgetEnded forgets the oldest records of ended sessions above the limit. It reports whether it left some.
func (c sessionVerbs) forgetEnded(left *table.Stint) (more bool, err error) {
	limits, err := c.effectiveLimits()
	if err != nil {
		return false, err
	}
	keep := uint64(limits.GetEndedSessionsMax())
	for c.state.EndedSessions-c.state.EndedForgotten > keep {
		if left.Over() {
			return true, nil
		}
		row := layout.NumberRow(layout.RowEnded, c.state.EndedForgotten)
		c.state.EndedForgotten++
		value, ok, err := c.rows.Get(row)
		if err != nil {
			return false, err
		}
		left.Spend(1, uint64(len(row)+len(value)))
		if !ok {
			continue
		}
		r := &storev1.EndedSessionRecord{}
		if err = layout.Decode(value, r); err != nil {
			return false, err
		}
		id, err := layout.SessionIDFromBytes(r.GetSessionId())
		if err != nil {
			return false, fmt.Errorf("%w: ended session: %w", layout.ErrCorrupt, err)
		}
		c.rows.Remove(row)
		c.rows.Remove(layout.SessionRow(layout.RowEndedIndex, id))
	}
	return false, nil
}

// dropPlaces takes an ending session out of all queues.
func (c sessionVerbs) dropPlaces(s *endingSession) error {
	for _, o := range s.places {
		l, err := c.lock(o.Name)
		if err != nil {
			return err
		}
		p, err := c.place(o.Name, o.Number)
		if err != nil {
			return err
		}
		if p == nil {
			return fmt.Errorf("%w: place of session %s in %q", layout.ErrCorrupt, s.id, o.Name.Key)
		}
		if err := c.queue.leave(l, p, storev1.WaitEndCause_WAIT_END_CAUSE_SESSION_ENDED, ""); err != nil {
			return err
		}
	}
	return nil
}

// dropHolds ends all holds of an ending session.
func (c sessionVerbs) dropHolds(s *endingSession, how sessionEnd) error {
	for _, o := range s.holds {
		l, h, err := c.locks.listedHold(s.id, o)
		if err != nil {
			return err
		}
		end := ending{cause: how.holdCause, reason: how.reason, released: how.clean}
		if !how.clean {
			end.delayMs = s.record.GetLockDelayMs()
		}
		deletes := s.record.GetBehavior() == storev1.SessionBehavior_SESSION_BEHAVIOR_DELETE && l.head.GetHolders() == 1
		end.keyFollows = deletes
		if err := c.locks.endHold(l, h, end); err != nil {
			return err
		}
		if !deletes {
			continue
		}
		if err := c.keys.deleteKey(o.Name, s.id[:]); err != nil {
			return err
		}
	}
	return nil
}

// EndRestored ends sessions because their state was restored or recovered, and returns those that it left: one command's worth.
func (w *Work) EndRestored(ids []layout.SessionID, reason string, wallMs int64) (left [][]byte, err error) {
	c := newCommand(w, w.state.Term, &storev1.Command{WallTimeMs: wallMs})
	result, err := c.sessions.endSessions(ids, sessionEnd{
		cause:     storev1.SessionEndCause_SESSION_END_CAUSE_RESTORED,
		holdCause: storev1.HoldEndCause_HOLD_END_CAUSE_RESTORED,
		reason:    reason,
	})
	if err == nil {
		err = c.finish()
	}
	if err != nil {
		return nil, err
	}
	w.Seal()
	return result.GetEndSessions().GetLeftSessionIds(), nil
}
