package machine

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
)

// emit adds an event; its revision, index and count are filled in at the end of the command.
func (c *command) emit(e *storev1.Event) {
	e.WallTimeMs = c.wallMs
	e.NamespaceId = c.ns
	c.events = append(c.events, e)
}

// emitLock adds an event of a lock.
func (c *command) emitLock(n layout.Name, e *storev1.Event) {
	e.WallTimeMs = c.wallMs
	e.NamespaceId = n.NS
	c.events = append(c.events, e)
}

// emitPut tells of a key's present record. There is one KeyPut for a key and command: a later change of the same key
// goes into it, and a new value outweighs any other change. It returns the index of the event.
func (c *command) emitPut(n layout.Name, k *storev1.KeyRecord, head *storev1.LockHead, change storev1.KeyChange,
	previous *storev1.PreviousValue,
) uint32 {
	put := &storev1.KeyPut{
		Key:            n.Key,
		Value:          k.GetValue(),
		Flags:          k.GetFlags(),
		CreateRevision: k.GetCreateRevision(),
		Version:        k.GetVersion(),
		LockIndex:      head.GetLockIndex(),
		SessionId:      head.GetExclusiveSessionId(),
		BoundSessionId: k.GetBoundSessionId(),
		Change:         change,
		Previous:       previous,
	}
	if k.GetCreateRevision() != c.revision {
		put.CreateTimeMs = k.GetCreateTimeMs()
	}
	if i, earlier := c.toldPut(n); earlier != nil {
		put.Previous = earlier.GetPrevious()
		if earlier.GetChange() == storev1.KeyChange_KEY_CHANGE_PUT {
			put.Change = storev1.KeyChange_KEY_CHANGE_PUT
		}
		c.events[i].Kind = &storev1.Event_KeyPut{KeyPut: put}
		return uint32(i)
	}
	c.emitOfKey(n, &storev1.Event{Kind: &storev1.Event_KeyPut{KeyPut: put}})
	return uint32(len(c.events) - 1)
}

// emitDeleted tells that a key lost its value. What the same command told of the key before is replaced.
func (c *command) emitDeleted(n layout.Name, deleted *storev1.KeyDeleted) {
	if i, earlier := c.toldPut(n); earlier != nil {
		deleted.Previous = earlier.GetPrevious()
		c.events[i].Kind = &storev1.Event_KeyDeleted{KeyDeleted: deleted}
		return
	}
	c.emitOfKey(n, &storev1.Event{Kind: &storev1.Event_KeyDeleted{KeyDeleted: deleted}})
}

// refreshPut brings what the command told of a key up to date with its lock.
func (c *command) refreshPut(n layout.Name, head *storev1.LockHead) {
	if _, put := c.toldPut(n); put != nil {
		put.LockIndex = head.GetLockIndex()
		put.SessionId = head.GetExclusiveSessionId()
	}
}

// toldPut returns the KeyPut that the command told of a key last, with its index; nil if the last it told was another.
func (c *command) toldPut(n layout.Name) (int, *storev1.KeyPut) {
	i, ok := c.keyEvent.of(n)
	if !ok || i >= len(c.events) { // An operation that failed may have told of it.
		return 0, nil
	}
	return i, c.events[i].GetKeyPut()
}

// emitOfKey adds an event that later ones of the same key may go into.
func (c *command) emitOfKey(n layout.Name, e *storev1.Event) {
	c.keyEvent.set(n, len(c.events))
	c.emitLock(n, e)
}

// keyEvents says which event told of a key's value last. Most commands tell of one key.
type keyEvents struct {
	first layout.Name // empty: none
	at    int
	more  map[layout.Name]int
}

func (k *keyEvents) of(n layout.Name) (int, bool) {
	if n == k.first {
		return k.at, true
	}
	i, ok := k.more[n]
	return i, ok
}

func (k *keyEvents) set(n layout.Name, i int) {
	switch {
	case k.first.Key == "" || n == k.first:
		k.first, k.at = n, i
	case k.more == nil:
		k.more = map[layout.Name]int{n: i}
	default:
		k.more[n] = i
	}
}
