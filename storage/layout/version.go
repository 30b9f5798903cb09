package layout

import "fmt"

// What apply does to a command changes only with the cluster version, so that members of different programs agree on the
// state, and the replay of an old log gives what it gave before.
const (
	// Version1 is that of the first program.
	Version1 = 1
	// Version2 bounds what a command may cost and what limits can be set to, removes the keys that only locks had made, knows
	// join tokens, tells the position of who joins a queue, keeps delayed holds apart from valid ones, and holds codes and
	// arguments where version 1 held texts.
	Version2 = 2
	// Version3 knows who may do what: tokens, policies and the principal of a command; liveness that the cluster itself
	// reports and that leaves what agents say of their nodes as it is, machines that have another id after a restore, checks that move to another
	// instance, prepared queries, and how many calls wait on a place. It bounds the results of transactions that may write, whichever list runs,
	// and what a full store remembers; and a transaction deletes no key that it makes.
	Version3 = 3

	// VersionMin is the oldest version that this program can follow.
	VersionMin = Version1
	// VersionMax is the newest.
	VersionMax = Version3
)

// CheckVersion refuses a state of a cluster version that this program cannot follow.
func CheckVersion(version uint32) error {
	if version < VersionMin || version > VersionMax {
		return fmt.Errorf("%w: cluster version %d; this program follows %d to %d",
			ErrUnknownFormat, version, VersionMin, VersionMax)
	}
	return nil
}
