package renewal

import (
	"context"

	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// shownSecrets checks, where the leader is, that what another member relays shows the secrets of the sessions that it acts
// as. That member has checked them too; but a program that only pretends to be one has not.
type shownSecrets struct{ api *Renewer }

// believes reports whether another member's word is enough that a client showed a session's secret before: as long as there
// may be members that do not send its hash with every renewal.
func (s shownSecrets) believes() bool {
	return !storage.RelaysSecrets(s.api.Node.Store().Applied().ClusterVersion)
}

// check refuses sessions whose secret is not the one that was shown; shown is its hash. Members of a cluster of the first
// version do not send it.
//
// This member may show less than the one that relays: the session may have ended there already, so that a retry has no
// secret to compare with. Before anything is refused, this member applies all that is committed. A session that does not
// live is for the state machine to refuse, which knows what became of it.
func (s shownSecrets) check(ctx context.Context, sessions [][]byte, shown []byte) error {
	if len(sessions) == 0 || !storage.RelaysSecrets(s.api.Node.Store().Applied().ClusterVersion) {
		return nil
	}
	refused, sure, err := s.look(sessions, shown)
	if err != nil || sure && refused == nil {
		return err
	}
	if _, err = s.api.proofs.prove(ctx, s.api.Stopping, s.api.Node); err != nil {
		return err
	}
	refused, _, err = s.look(sessions, shown)
	if err == nil && refused != nil {
		return refused
	}
	return err
}

// look compares with what this member shows now. It is not sure of a session of which it knows nothing.
func (s shownSecrets) look(sessions [][]byte, shown []byte) (refused *reason.Error, sure bool, err error) {
	at := lazySnapshot{api: s.api}
	defer at.close()
	sure = true
	for _, raw := range sessions {
		id, err := storage.SessionIDFromBytes(raw)
		if err != nil {
			return nil, false, reason.Invalid("command", "acts as a session whose id is none")
		}
		if hash, known := s.api.Secrets.Of(id); known && (len(hash) == 0 || call.ShowsSecret(shown, hash)) {
			continue
		}
		hash, live, err := at.Live(id)
		if err != nil {
			return nil, false, err
		}
		if !live {
			ended, err := at.Ended(id)
			if err != nil {
				return nil, false, err
			}
			sure = sure && ended
			continue
		}
		if len(hash) > 0 && !call.ShowsSecret(shown, hash) {
			return call.SecretWrong(id, len(shown) > 0), true, nil
		}
		s.api.Secrets.Note(id, hash)
	}
	return nil, sure, nil
}
