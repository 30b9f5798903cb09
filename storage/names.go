package storage

import "github.com/tenure-io/tenure/storage/layout"

// SessionID names a session; 16 bytes drawn at random, shown as the text of a UUID.
type SessionID = layout.SessionID

// Applied is the state's own account of itself as of one raft entry.
type Applied = layout.Applied

// Entry is one committed raft entry.
type Entry = layout.Entry

// ParseSessionID reads exactly what SessionID.String writes, in either case of letters; anything else is ErrSessionID.
func ParseSessionID(text string) (SessionID, error) { return layout.ParseSessionID(text) }

// SessionIDFromBytes returns the id that b holds; anything but 16 bytes is ErrSessionID.
func SessionIDFromBytes(b []byte) (SessionID, error) { return layout.SessionIDFromBytes(b) }
