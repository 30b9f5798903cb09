package expiry

import "github.com/tenure-io/tenure/storage"

// attachment is the latest attempt of a process to attach to a session.
type attachment struct {
	instance string
	attempt  uint64
}

// Attach notes that an instance attaches to a session for the attempt-th time, by its own count, and returns the latest
// attempt of that instance. The order begins anew with another instance, with an epoch of the session, and with a term. It
// is false where only the leader knows.
func (t *Timers) Attach(id storage.SessionID, instance []byte, attempt uint64) (latest uint64, ok bool) {
	tb := t.table.Load()
	if tb == nil {
		return 0, false
	}
	sh, _ := tb.shard(&id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.byID[id] == nil {
		return attempt, true // It ended, or is not known yet.
	}
	last := sh.attached[id]
	if last.instance == string(instance) && last.attempt > attempt {
		return last.attempt, true
	}
	if sh.attached == nil {
		sh.attached = map[storage.SessionID]attachment{}
	}
	sh.attached[id] = attachment{instance: string(instance), attempt: attempt}
	return attempt, true
}
