// Package layout says how the state is laid out on disk: the rows and their keys, the records in them, the account that the
// state gives of itself, and the cluster versions whose formats this program knows.
//
// Everything here is a value. What a row is called and how it is written never changes, because old disks must be read.
package layout
