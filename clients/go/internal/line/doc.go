// Package line makes many calls over one stream to a member: LineService.Line. Over puts it between a connection and those who call over it, who
// notice nothing but that it is faster: results, errors, deadlines and what a lost connection means are those of calls that are made one by one.
//
// A call is made by itself where a line does not serve: for a method that lines do not carry, for a message that would hold up others, with options
// or metadata of its own, when the line is full, and at a member that has no lines.
//
// Waits and watches are calls, too, on lines of their own, so that no other call is behind what they are sent. Each has credit for a few messages that its
// caller has not taken: one that is not read holds up none of the others. They are streams where the member carries none, or all lines are full.
//
// The line is opened by the first call, and closed when it has been idle for a while. Numbers, credentials and messages are those of line.proto; the
// messages are read and written by hand, so that callers encode and decode their own part at the same time.
package line
