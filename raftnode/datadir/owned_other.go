//go:build !unix

package datadir

import "os"

// ownerOf returns whom a file belongs to: nobody.
func ownerOf(os.FileInfo) (owner, bool) { return owner{}, false }

// giveOpen gives nothing.
func giveOpen(uintptr, owner) error { return nil }
