package planted

// Bug is one deliberate mistake.
type Bug uint8

// The planted bugs. Their names in flags and tables are those of Name.
const (
	None Bug = iota
	NoCheckQuorum
	AckBeforeSync
	CutLogEarly
	NoTermCheck
	ExpiryStampedAtProposal
	TimersNotRestarted
	RenewalWithoutProof
	RenewalWhileExpiring
	TokenPerKey
	TwoGrants
	Barging
	DelayLostOnSnapshot
	QueueOrderByMap
	WindowOffByOne
	ResultOfAnother
	WatchResumeOffByOne
	SplitRevision
	ProgressTooEarly
	LeaseReads
	ReadIndexReused
	ConfChangeEarly
	BlankDisk
	InstallBeforeLog
	RestoreWithoutJump
	ChecksumOfResultsOnly
	BatchBoundaryVisible
	GuardIgnored
	ReadWithoutProof
	NoLockDelay
	PlacesSurviveSession
	OldEpochAccepted
	SnapshotWithoutReceiver
	CheckpointListsLock
	FailedSyncIgnored
	end
)

//nolint:gosec // Token is what the service hands out; nothing here is secret.
var names = [end]string{
	None:                    "none",
	NoCheckQuorum:           "no-check-quorum",
	AckBeforeSync:           "ack-before-sync",
	CutLogEarly:             "cut-log-early",
	NoTermCheck:             "no-term-check",
	ExpiryStampedAtProposal: "expiry-stamped-at-proposal",
	TimersNotRestarted:      "timers-not-restarted",
	RenewalWithoutProof:     "renewal-without-proof",
	RenewalWhileExpiring:    "renewal-while-expiring",
	TokenPerKey:             "token-per-key",
	TwoGrants:               "two-grants",
	Barging:                 "barging",
	DelayLostOnSnapshot:     "delay-lost-on-snapshot",
	QueueOrderByMap:         "queue-order-by-map",
	WindowOffByOne:          "window-off-by-one",
	ResultOfAnother:         "result-of-another",
	WatchResumeOffByOne:     "watch-resume-off-by-one",
	SplitRevision:           "split-revision",
	ProgressTooEarly:        "progress-too-early",
	LeaseReads:              "lease-reads",
	ReadIndexReused:         "read-index-reused",
	ConfChangeEarly:         "conf-change-early",
	BlankDisk:               "blank-disk",
	InstallBeforeLog:        "install-before-log",
	RestoreWithoutJump:      "restore-without-jump",
	ChecksumOfResultsOnly:   "checksum-of-results-only",
	BatchBoundaryVisible:    "batch-boundary-visible",
	GuardIgnored:            "guard-ignored",
	ReadWithoutProof:        "read-without-proof",
	NoLockDelay:             "no-lock-delay",
	PlacesSurviveSession:    "places-survive-session",
	OldEpochAccepted:        "old-epoch-accepted",
	SnapshotWithoutReceiver: "snapshot-without-receiver",
	CheckpointListsLock:     "checkpoint-lists-lock",
	FailedSyncIgnored:       "failed-sync-ignored",
}

// Name returns the bug's name.
func (b Bug) Name() string { return names[b] }

// Bugs returns all bugs there are.
func Bugs() []Bug {
	bugs := make([]Bug, 0, end)
	for b := None + 1; b < end; b++ {
		bugs = append(bugs, b)
	}
	return bugs
}

// Parse returns the bug of a name, or false.
func Parse(name string) (Bug, bool) {
	for b, n := range names {
		if n == name {
			return Bug(b), true
		}
	}
	return None, false
}
