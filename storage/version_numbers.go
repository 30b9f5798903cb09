package storage

import "fmt"

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

// checkVersion refuses a state of a cluster version that this program cannot follow.
func checkVersion(version uint32) error {
	if version < clusterVersionMin || version > clusterVersionMax {
		return fmt.Errorf("%w: cluster version %d; this program follows %d to %d",
			ErrUnknownFormat, version, clusterVersionMin, clusterVersionMax)
	}
	return nil
}
