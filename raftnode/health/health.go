package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/storage"
)

var (
	// ErrStateDiffers says that this member's state differs from that of a quorum. It stops, and must not be used again.
	ErrStateDiffers = errors.New("the state of this member differs from that of a quorum")
	// ErrNoAgreement says that the members' states differ and no quorum has the same: nobody can say which is right, so
	// nothing is written.
	ErrNoAgreement = errors.New("the states of the members differ, and no quorum has the same state")
)

const (
	// compareTimeout bounds one comparison.
	compareTimeout = 2 * time.Second
	// leadCompares is how often, and leadCompareEvery how soon one after the other, a new leader compares out of turn.
	leadCompares     = 8
	leadCompareEvery = 250 * time.Millisecond
	// reportFresh is how long what a member said about its disk is believed.
	reportFresh = 15 * time.Second
	// checksumsMax bounds the checksums of a report.
	checksumsMax = 64
)

// comparePoints is how far behind the applied index members compare, so that one that lags has some of them.
func comparePoints() []uint64 { return []uint64{0, 1, 8, 64, 512, 4096} }

// Member is the member whose health is watched, and what that needs of it. All of it is required.
type Member struct {
	ID     uint64
	Logger *zap.Logger
	// Store returns the state machine, which may be another one at the next call.
	Store func() *storage.Store
	// Members knows the cluster's members.
	Members Members
	// Conn returns the connection for calls to another member.
	Conn func(member uint64) (grpc.ClientConnInterface, error)
	// Dir is the data directory, and Guard what its file system became; Stalls is told what the store makes wait.
	Dir    *datadir.Dir
	Guard  *datadir.Guard
	Stalls *Stalls
	// HangAfter is how long a write may take before the disk counts as hanging.
	HangAfter time.Duration
	// Fail stops the member. It does not block.
	Fail func(error)
	// Compared counts the answers to comparisons, Differ those that showed different states.
	Compared, Differ prometheus.Counter
}

// Members knows the cluster's members.
type Members interface {
	// Conf returns the members as applied, or an error while they change.
	Conf() (*raftpb.ConfState, error)
	// Records returns the members' records.
	Records() []*storev1.Member
}

// Watch watches over this member and, through what they report, the others.
type Watch struct {
	o    Options
	m    Member
	log  *zap.Logger
	free atomic.Uint64 // bytes of the disk; 0 when unknown
	low  atomic.Bool   // too little of them
	// hangs is set while a write of the log, or of the state, does not come to an end.
	hangs atomic.Bool
	// reserveAt is when the reserve may be made next; owned by watchRoom.
	reserveAt time.Time
	// odd is set while no quorum agrees on the state.
	odd atomic.Bool

	rounds sync.Mutex // held by a round

	mu      sync.Mutex // guards reports
	reports map[uint64]report
}

// report is what another member said last.
type report struct {
	at      time.Time
	message *peerv1.MemberReport
}

// New returns the watch of a member that starts.
func New(o Options, m Member) *Watch {
	return &Watch{o: o, m: m, log: m.Logger, reports: map[uint64]report{}}
}

// Free returns how many bytes of the disk are free; 0 when that is unknown.
func (h *Watch) Free() uint64 { return h.free.Load() }

// Low reports whether this member's disk has too little room.
func (h *Watch) Low() bool { return h.low.Load() }

// Hangs reports whether a write of the log, or of the state, does not come to an end.
func (h *Watch) Hangs() bool { return h.hangs.Load() }

// SetHangs says whether one does.
func (h *Watch) SetHangs(hangs bool) { h.hangs.Store(hangs) }

// GrowthRefused reports whether what makes the state grow is refused, for this member's disk or that of another.
func (h *Watch) GrowthRefused() bool { return h.low.Load() || h.lowElsewhere() != 0 }

// NoAgreement reports whether no quorum of members has the same state, so that nothing is written.
func (h *Watch) NoAgreement() bool { return h.odd.Load() }

// Refuses returns why a command is not taken, nil if it is. Members and their addresses can always be changed: that may
// be what helps.
func (h *Watch) Refuses(c *storev1.Command) error {
	switch c.GetKind().(type) {
	case *storev1.Command_PutMember, *storev1.Command_DeleteMember,
		*storev1.Command_MakeJoinToken, *storev1.Command_JoinMember, *storev1.Command_EndJoinTokens:
		return nil
	}
	if h.odd.Load() {
		return ErrNoAgreement
	}
	if !h.GrowthRefused() || !grows(c, h.isReport) {
		return nil
	}
	return ErrDiskFull
}

// lowElsewhere returns a voter whose disk has too little room, as it said a moment ago; 0 if there is none.
func (h *Watch) lowElsewhere() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, r := range h.reports {
		if r.message.GetDiskFull() && time.Since(r.at) < reportFresh {
			return id
		}
	}
	return 0
}

// MajorityTime returns the latest time that the wall clocks of a majority of the voters have reached, and whether it is known. A
// member whose clock is wrong does not decide it.
func (h *Watch) MajorityTime() (time.Time, bool) {
	cs, err := h.m.Members.Conf()
	if err != nil {
		return time.Time{}, false
	}
	var clocks []time.Time
	h.mu.Lock()
	for _, id := range cs.GetVoters() {
		r, reported := h.reports[id]
		switch since := time.Since(r.at); {
		case id == h.m.ID:
			clocks = append(clocks, time.Now())
		case reported && since < reportFresh && r.message.GetWallTimeMs() != 0:
			clocks = append(clocks, time.UnixMilli(r.message.GetWallTimeMs()).Add(since))
		}
	}
	h.mu.Unlock()
	return reachedByMajority(clocks, len(cs.GetVoters()))
}

// reachedByMajority returns the latest time that a majority of the voters' clocks have reached, if so many are known.
func reachedByMajority(clocks []time.Time, voters int) (time.Time, bool) {
	quorum := voters/2 + 1
	if len(clocks) < quorum {
		return time.Time{}, false
	}
	slices.SortFunc(clocks, time.Time.Compare)
	return clocks[len(clocks)-quorum], true
}

// Compare asks the other members how they are, again and again until ctx ends.
func (h *Watch) Compare(ctx context.Context) {
	tick := time.NewTicker(h.o.CompareEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		h.round(ctx)
	}
}

// Lead compares more often at the beginning of a term: what the new leader takes depends on what it knows of the others'
// disks and states, and it may have started a moment ago. It is a leader task.
func (h *Watch) Lead(ctx context.Context, _ uint64) error {
	tick := time.NewTicker(leadCompareEvery)
	defer tick.Stop()
	for range leadCompares {
		h.round(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
	return nil
}

// round asks every other member once, all at the same time, and draws the conclusions. An earlier round ends before a later
// one begins; one whose ctx has ended concludes nothing.
func (h *Watch) round(ctx context.Context) {
	h.rounds.Lock()
	defer h.rounds.Unlock()
	m := h.m
	cs, err := m.Members.Conf()
	if err != nil {
		return
	}
	own := h.report(nil)
	answers := make([]*peerv1.MemberReport, len(cs.GetVoters()))
	asking, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()
	var asked sync.WaitGroup
	for i, id := range cs.GetVoters() {
		if id != m.ID {
			asked.Go(func() { answers[i] = h.ask(asking, id, own) })
		}
	}
	asked.Wait()
	if ctx.Err() != nil {
		return
	}
	sums := map[uint64]map[uint64]uint64{} // by member, by index
	h.mu.Lock()
	clear(h.reports)
	for i, id := range cs.GetVoters() {
		if answers[i] != nil {
			h.reports[id] = report{at: time.Now(), message: answers[i]}
			sums[id] = sumsOf(answers[i])
		}
	}
	h.mu.Unlock()
	sums[m.ID] = sumsOf(own)
	h.judge(cs.GetVoters(), sums)
}

func sumsOf(r *peerv1.MemberReport) map[uint64]uint64 {
	sums := map[uint64]uint64{}
	for _, s := range r.GetChecksums() {
		sums[s.GetIndex()] = s.GetChecksum()
	}
	return sums
}

// ask returns a member's report, nil if it does not answer.
func (h *Watch) ask(ctx context.Context, id uint64, own *peerv1.MemberReport) *peerv1.MemberReport {
	cc, err := h.m.Conn(id)
	if err != nil {
		return nil
	}
	resp, err := peerv1.NewPeerServiceClient(cc).Compare(ctx, &peerv1.CompareRequest{Report: own})
	if err != nil {
		return nil
	}
	h.m.Compared.Inc()
	return resp.GetReport()
}

// judge looks whether all voters that answered agree with this member, at the newest index that most of them know.
func (h *Watch) judge(voters []uint64, sums map[uint64]map[uint64]uint64) {
	m := h.m
	own := sums[m.ID]
	index, most := uint64(0), 0
	for at := range own {
		known := 0
		for _, of := range sums {
			if _, ok := of[at]; ok {
				known++
			}
		}
		if known > most || known == most && at > index {
			index, most = at, known
		}
	}
	if len(voters) == 1 && voters[0] == m.ID {
		h.odd.Store(false) // It is a quorum, and agrees with itself.
		return
	}
	if most < 2 {
		return // Nobody to compare with; what was found before stands.
	}
	groups := map[uint64]int{} // voters by checksum
	for _, id := range voters {
		if sum, ok := sums[id][index]; ok {
			groups[sum]++
		}
	}
	quorum := len(voters)/2 + 1
	for sum, count := range groups {
		if sum != own[index] && count >= quorum {
			why := fmt.Sprintf("checksum at index %d is %016x, %d of %d voters have %016x", index, own[index], count, len(voters), sum)
			// Started again it would lead, vote and serve until the next comparison.
			m.Fail(errors.Join(stateDiffers(why), m.Dir.WriteDiffers([]byte(why))))
			return
		}
	}
	differ := len(groups) > 1 || len(groups) == 1 && groups[own[index]] == 0
	odd := differ && groups[own[index]] < quorum
	if differ {
		m.Differ.Inc()
		h.log.Error("members have different states", zap.Uint64("index", index),
			zap.Uint64("checksum", own[index]), zap.Int("agree", groups[own[index]]), zap.Int("voters", len(voters)),
			zap.Bool("writes_refused", odd))
	}
	h.odd.Store(odd)
}

// stateDiffers says what was found, and what to do.
func stateDiffers(why string) error {
	return fmt.Errorf("%w: %s; its disk or memory is damaged: remove the member from the cluster, remove its data directory, "+
		"and let it join again", ErrStateDiffers, why)
}

// CheckDiffers refuses a directory whose state was found to be wrong.
func CheckDiffers(dir *datadir.Dir) error {
	why, err := dir.Differs()
	if err == nil && why != nil {
		err = stateDiffers(string(why))
	}
	return err
}

// report says how this member is. To another's report it answers with checksums at the indexes that one named.
func (h *Watch) report(of *peerv1.MemberReport) *peerv1.MemberReport {
	store := h.m.Store()
	applied := store.Applied().Index
	r := &peerv1.MemberReport{
		AppliedIndex: applied, DiskFull: h.low.Load(), DiskFreeBytes: h.free.Load(), DiskHangs: h.hangs.Load(),
		WallTimeMs: time.Now().UnixMilli(),
	}
	var indexes []uint64
	if of != nil {
		for _, s := range of.GetChecksums() {
			indexes = append(indexes, s.GetIndex())
		}
	} else {
		for _, back := range comparePoints() {
			indexes = append(indexes, applied-min(back, applied))
		}
	}
	slices.Sort(indexes)
	indexes = slices.Compact(indexes)
	for _, index := range indexes[:min(len(indexes), checksumsMax)] {
		if sum, ok := store.ChecksumAt(index); ok {
			r.Checksums = append(r.Checksums, &peerv1.StateChecksum{Index: index, Checksum: sum})
		}
	}
	return r
}

// Answer tells another member how this one is.
func (h *Watch) Answer(req *peerv1.CompareRequest) *peerv1.CompareResponse {
	return &peerv1.CompareResponse{Report: h.report(req.GetReport())}
}

// Alarm is a danger that an operator has to look at.
type Alarm struct {
	// Name is disk-full, slow-disk, write-stall, checksum-mismatch, wiped-disk, term-jump or start-refused, and the heading
	// of a runbook.
	Name string
	// Member has it; Message says what is the case, in a sentence.
	Member  uint64
	Message string
}

// The names of alarms.
const (
	AlarmDiskFull         = "disk-full"
	AlarmSlowDisk         = "slow-disk"
	AlarmWriteStall       = "write-stall"
	AlarmChecksumMismatch = "checksum-mismatch"
	AlarmWipedDisk        = "wiped-disk"
	AlarmTermJump         = "term-jump"
	AlarmStartRefused     = "start-refused"
)

// Alarms returns the dangers of disks and states that this member knows of, its own and those of others.
func (h *Watch) Alarms() []Alarm {
	var all []Alarm
	m := h.m
	if h.odd.Load() {
		all = append(all, Alarm{
			Name: AlarmChecksumMismatch, Member: m.ID,
			Message: "The members have different states and no quorum has the same: nothing is written until an operator has " +
				"decided which to keep.",
		})
	}
	if h.low.Load() {
		all = append(all, Alarm{Name: AlarmDiskFull, Member: m.ID, Message: fmt.Sprintf(
			"The disk of this member has %d bytes free, less than %d (--disk-free-min-bytes): nothing is taken that makes the state grow.",
			h.free.Load(), h.o.DiskFreeMin)})
	}
	if h.hangs.Load() {
		all = append(all, Alarm{Name: AlarmSlowDisk, Member: m.ID, Message: fmt.Sprintf(
			"The disk of this member hangs: a write of the log, or of the state, takes longer than %v. It does not lead if another can.",
			m.HangAfter)})
	} else {
		all = append(all, h.slowWrite()...)
	}
	all = append(all, m.Stalls.alarm(m.ID)...)
	names := map[uint64]string{}
	for _, r := range m.Members.Records() {
		names[r.GetId()] = r.GetName()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(h.reports)) {
		r, name := h.reports[id], cmp.Or(names[id], strconv.FormatUint(id, 10))
		if time.Since(r.at) >= reportFresh {
			continue
		}
		if r.message.GetDiskFull() {
			all = append(all, Alarm{Name: AlarmDiskFull, Member: id, Message: fmt.Sprintf(
				"The disk of member %s has %d bytes free, less than its --disk-free-min-bytes: nothing is taken that makes the state grow.",
				name, r.message.GetDiskFreeBytes())})
		}
		if r.message.GetDiskHangs() {
			all = append(all, Alarm{Name: AlarmSlowDisk, Member: id, Message: fmt.Sprintf(
				"The disk of member %s hangs: a write of its log, or of its state, does not come to an end.", name)})
		}
	}
	return all
}
