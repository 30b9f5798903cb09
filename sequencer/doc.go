// Package sequencer turns the proof of a lock into text that survives URLs, environment variables and log lines, and
// back. Members and clients share it.
//
// The text is "v1.<key>.<lock_index>.<session>.<token>.<history>": the key in unpadded base64url, the session as a
// lower-case UUID, the two numbers in decimal, the history as 32 hexadecimal digits or nothing. Every sequencer has exactly
// one text, and Parse refuses anything that Format would not have written. Only "A-Za-z0-9._-" occur in it.
//
// The package checks form, never truth: whether a sequencer still holds is for a member to say.
package sequencer
