package server_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/storage"
)

// clusterTest is the name of the test that runs others on a follower.
const clusterTest = "TestOnAFollower"

// clusterTick makes elections slow: members that share a loaded machine must not lose their leader.
const clusterTick = 100 * time.Millisecond

// cluster is some members under test, in this process.
type cluster struct {
	members []*member
}

// startCluster runs members on file systems in memory, until the test ends.
func startCluster(t *testing.T, n int, adjust ...func(*server.Config)) *cluster {
	t.Helper()
	peers := make([]net.Listener, n)
	first := make([]string, n)
	for i := range peers {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		peers[i], first[i] = l, fmt.Sprintf("m%d=%s", i+1, l.Addr())
	}
	c := &cluster{members: make([]*member, n)}
	// They begin together: each waits for the others.
	var starting sync.WaitGroup
	for i := range peers {
		starting.Go(func() {
			c.members[i] = startMember(t, slices.Concat([]func(*server.Config){func(config *server.Config) {
				config.Name = fmt.Sprintf("m%d", i+1)
				config.FS = storage.NewMemFS()
				config.Tick = clusterTick
				config.InitialCluster = first
				config.PeerAddr = peers[i].Addr().String()
				config.Listen = func(ctx context.Context, address string) (net.Listener, error) {
					if address == peers[i].Addr().String() {
						return peers[i], nil
					}
					return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
				}
			}}, adjust, []func(*server.Config){func(config *server.Config) {
				if i > 0 {
					config.Registry = nil // Whoever gives one means the first member.
				}
			}})...)
		})
	}
	starting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return c
}

// leader returns the number of the member that leads.
func (c *cluster) leader(t *testing.T) int {
	t.Helper()
	var err error // of the last member that did not say who leads: an election may take long
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		for i, m := range c.members {
			list, failed := m.ListMembers(t.Context(), &tenurev1.ListMembersRequest{})
			if failed != nil {
				err = failed
				continue
			}
			for _, one := range list.GetMembers() {
				if one.GetLeader() && one.GetId() == list.GetHeader().GetMemberId() {
					return i
				}
			}
		}
	}
	t.Fatalf("no member says that it leads: %v", err)
	return 0
}

// startFollower runs a cluster of three and returns its first member, which does not lead.
func startFollower(t *testing.T, adjust ...func(*server.Config)) *member {
	t.Helper()
	c := startCluster(t, 3, adjust...)
	for deadline := time.Now().Add(patience); c.leader(t) == 0; {
		_, err := c.members[0].TransferLeadership(t.Context(), &tenurev1.TransferLeadershipRequest{})
		// Nobody may be near enough yet to take it over.
		if err != nil && time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	_, newest := storage.ClusterVersions()
	await(t, "the cluster has the newest version", func() bool {
		s, err := c.members[0].GetStatus(t.Context(), &tenurev1.GetStatusRequest{})
		return err == nil && s.GetClusterVersion() == newest
	})
	return c.members[0]
}

// onAFollower tells whether a test is to run on a member that does not lead.
func onAFollower(t *testing.T) bool { return strings.HasPrefix(t.Name(), clusterTest+"/") }

// A member that does not lead answers as the leader does: the tests of the services pass on it.
func TestOnAFollower(t *testing.T) {
	for _, tc := range []struct {
		behaviour string
		test      func(*testing.T)
		long      bool // runs with TENURE_SOAK=1 only
	}{
		{"a retry under a session that is forgotten", TestARetryUnderASessionThatIsForgotten, false},
		{"attach tells the highest request", TestAttachTellsTheHighestRequest, true},
		{"election with curl", TestElectionWithCurl, true},
		{"the last broken call leaves the place", TestTheLastBrokenCallLeavesThePlace, false},
		{"place of who goes away", TestPlaceOfWhoGoesAway, true},
		{"election", TestElection, false},
		{"stream hints what a takeover and force end", TestStreamHintsWhatATakeoverAndForceEnd, true},
		{"stream hints what happens to locks", TestStreamHintsWhatHappensToLocks, false},
		{"closed keep alive stream ends cleanly", TestClosedKeepAliveStreamEndsCleanly, true},
		{"renew session restarts the TTL", TestRenewSessionRestartsTheTTL, false},
		{"too large renewal message is refused", TestTooLargeRenewalMessageIsRefused, true},
		{"verdicts of renewals", TestVerdictsOfRenewals, false},
		{"compare tells the revision", TestCompareTellsTheRevision, true},
		{"force releases and is logged", TestForceReleasesAndIsLogged, true},
		{"lock delay is told and ends", TestLockDelayIsToldAndEnds, false},
		{"loser of a lock is told who holds", TestLoserOfALockIsToldWhoHolds, true},
		{"reads are as fresh as asked", TestReadsAreAsFreshAsAsked, false},
		{"guards are checked", TestGuardsAreChecked, false},
		{"limits are set", TestLimitsAreSet, false},
		{"lock passes along its queue", TestLockPassesAlongItsQueue, false},
		{"locks are shared by their mode", TestLocksAreSharedByTheirMode, true},
		{"operator breaks a lock", TestOperatorBreaksALock, false},
		{"release is an answer", TestReleaseIsAnAnswer, true},
		{"retry gets the first result", TestRetryGetsTheFirstResult, false},
		{"takeover makes old tokens stale", TestTakeoverMakesOldTokensStale, false},
		{"a wait of ages is long", TestAWaitOfAgesIsLong, true},
		{"try of who queues already answers in its own time", TestTryOfWhoQueuesAlreadyAnswersInItsOwnTime, true},
		{"try with wait answers once", TestTryWithWaitAnswersOnce, false},
		{"wait ends with its cause", TestWaitEndsWithItsCause, false},
		{"every option is honoured or refused", TestEveryOptionIsHonouredOrRefused, true},
		{"health tells of every service", TestHealthTellsOfEveryService, false},
		{"stale read that waits ends with the member", TestStaleReadThatWaitsEndsWithTheMember, false},
		{"stop ends streams and refuses calls", TestStopEndsStreamsAndRefusesCalls, false},
		{"another instance must take over", TestAnotherInstanceMustTakeOver, false},
		{"ended session stays readable", TestEndedSessionStaysReadable, false},
		{"epoch is compared", TestEpochIsCompared, false},
		{"secret is needed to act as the session", TestSecretIsNeededToActAsTheSession, false},
		{"session gets what the rules grant", TestSessionGetsWhatTheRulesGrant, true},
		{"transaction names every failing operation and writes nothing", TestTransactionNamesEveryFailingOperationAndWritesNothing, true},
		{"transaction runs one of its lists whole", TestTransactionRunsOneOfItsListsWhole, false},
		{"transaction uses the secret of its options", TestTransactionUsesTheSecretOfItsOptions, true},
		{"every method by every caller over every way", TestEveryMethodByEveryCallerOverEveryWay, false},
		{"lists show what their caller sees", TestListsShowWhatTheirCallerSees, false},
		{"events say what a read would have said", TestEventsSayWhatAReadWouldHaveSaid, true},
		{"initial then live has no gap", TestInitialThenLiveHasNoGap, true},
		{"watch after a revision and by token", TestWatchAfterARevisionAndByToken, false},
		{"watch from now sees what comes after", TestWatchFromNowSeesWhatComesAfter, true},
		{"watch is refused with a reason", TestWatchIsRefusedWithAReason, true},
		{"watch limit and wait end the stream cleanly", TestWatchLimitAndWaitEndTheStreamCleanly, true},
		{"watch progress says how far", TestWatchProgressSaysHowFar, true},
		{"watch tells of sessions and locks", TestWatchTellsOfSessionsAndLocks, false},
	} {
		t.Run(tc.behaviour, func(t *testing.T) {
			if tc.long && os.Getenv("TENURE_SOAK") != "1" {
				t.Skip("long; TENURE_SOAK runs it")
			}
			t.Parallel() // Most of the time is elections.
			tc.test(t)
		})
	}
}
