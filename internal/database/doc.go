// Package database opens Pebble's databases, and says why one cannot be opened or read: damage, a disk that fails, or neither. Pebble itself calls
// only a part of all damage corruption, panics with some errors of the disk, and waits for ever for a flush that fails
// while it opens a database. It never logs, and keeps nothing of its own on disk.
package database
