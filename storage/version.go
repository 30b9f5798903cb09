package storage

import (
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// What apply does to a command changes only with the cluster version, so that members of different programs agree on the
// state, and the replay of an old log gives what it gave before.
const (
	// version1 is that of the first program.
	version1 = 1
	// version2 bounds what a command may cost and what limits can be set to, removes the keys that only locks had made, knows
	// join tokens, tells the position of who joins a queue, keeps delayed holds apart from valid ones, and holds codes and
	// arguments where version 1 held texts.
	version2 = 2

	clusterVersionMin, clusterVersionMax = version1, version2
)

// ClusterVersions returns the oldest and the newest cluster version that this program can follow.
func ClusterVersions() (oldest, newest uint32) { return clusterVersionMin, clusterVersionMax }

// KeepsKeys says whether an acquire may ask, under a cluster version, for a key that stays. Under an older one a key stays
// in any case, and older programs do not know the question.
func KeepsKeys(version uint32) bool { return version >= version2 }

// BreaksInSteps reports whether the break of a lock with very many holders takes several commands under a cluster version. Older
// programs do not know those that go on.
func BreaksInSteps(version uint32) bool { return version >= version2 }

// KnowsJoinTokens reports whether a cluster version has join tokens, without which nobody joins.
func KnowsJoinTokens(version uint32) bool { return version >= version2 }

// RelaysSecrets reports whether, under a cluster version, every member that relays for a session shows the hash of the secret
// that the client showed.
func RelaysSecrets(version uint32) bool { return version >= version2 }

// NamesAddresses reports whether, under a cluster version, every member names its address in its calls to others.
func NamesAddresses(version uint32) bool { return version >= version2 }

// checkVersion refuses a state of a cluster version that this program cannot follow.
func checkVersion(version uint32) error {
	if version < clusterVersionMin || version > clusterVersionMax {
		return fmt.Errorf("%w: cluster version %d; this program follows %d to %d",
			ErrUnknownFormat, version, clusterVersionMin, clusterVersionMax)
	}
	return nil
}

// setClusterVersion raises the version in use, once every member says that it can follow. A program that cannot stops
// here, not later.
func (c *command) setClusterVersion(s *storev1.SetClusterVersion) (*storev1.Result, error) {
	if s.GetVersion() < c.state.ClusterVersion {
		f := broken(storev1.FailureReason_FAILURE_REASON_COMPARE_FAILED,
			storev1.FailureDetail_FAILURE_DETAIL_CLUSTER_VERSION_ABOVE, c.state.ClusterVersion)
		f.failure.Actual = uint64(c.state.ClusterVersion)
		return nil, f
	}
	all, err := members(c.rows)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if err = checkFollows(m, s.GetVersion()); err != nil {
			return nil, err
		}
	}
	if err = checkVersion(s.GetVersion()); err != nil {
		return nil, err
	}
	c.state.ClusterVersion = s.GetVersion()
	return &storev1.Result{}, nil
}
