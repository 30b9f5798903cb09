package storage

import (
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
)

// SessionID names a session; 16 bytes drawn at random, shown as the text of a UUID.
type SessionID = layout.SessionID

// Applied is the state's own account of itself as of one raft entry.
type Applied = layout.Applied

// Entry is one committed raft entry.
type Entry = layout.Entry

// What a Reader returns of locks, sessions and queues.
type (
	// LockInfo is a lock as it is, with why its last holders are none any more.
	LockInfo = records.LockInfo
	// WaiterEntry is one place in a queue. Its record comes without the value that a grant writes.
	WaiterEntry = records.WaiterEntry
	// SessionEntry is one session of a list.
	SessionEntry = records.SessionEntry
	// SessionObjects is what a live session has.
	SessionObjects = records.SessionObjects
	// Delay is a hold that was lost and still counts.
	Delay = records.Delay
	// Wait is a place whose wait has a time-out.
	Wait = records.Wait
)

// ParseSessionID reads exactly what SessionID.String writes, in either case of letters; anything else is ErrSessionID.
func ParseSessionID(text string) (SessionID, error) { return layout.ParseSessionID(text) }

// SessionIDFromBytes returns the id that b holds; anything but 16 bytes is ErrSessionID.
func SessionIDFromBytes(b []byte) (SessionID, error) { return layout.SessionIDFromBytes(b) }
