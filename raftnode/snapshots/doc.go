// Package snapshots helps members that fell behind, and keeps the log short: it makes checkpoints of the state machine, cuts
// the log behind them, and sends and receives them as snapshots.
//
// It promises: an entry is cut only when it is durable in the state machine and in a checkpoint. Each member is sent one
// snapshot at a time, at a bounded speed. A snapshot is handed to raft only when it was received whole; whatever arrived of one
// that broke off is used by the next attempt.
//
// It needs the log, the catalogue of checkpoints, and a transport that carries snapshots. It never installs one: that belongs to
// whoever owns the state machine.
package snapshots
