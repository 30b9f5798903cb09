// Package checkpoint keeps state machine checkpoints in files: those made here, for members that fell behind, and those
// received, to be installed.
//
// A checkpoint is a directory with a manifest and the files of a Pebble checkpoint. It promises: a checkpoint that is in
// the catalogue is complete and on stable storage; one that somebody holds is not removed; Verify finds a file that is
// missing, changed or not in the manifest.
//
// It needs: one goroutine at a time that calls Make.
//
// It never opens the databases inside.
package checkpoint
