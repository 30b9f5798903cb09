// Package table reads and writes the rows of a store: through the overlay of one Apply, and through a snapshot.
//
// The overlay holds what a batch of entries changes, above the rows on disk, until all is written at once. Hot rows and voids spare
// reads of the disk, and have no part in what is read. A meter counts what a command reads and writes.
package table
