// Package conn keeps a connection to a member that answers, and as many more to that member as streams need that last.
//
// A Pool connects when somebody asks for a Link, to members in random order and then round robin, with growing pauses of
// full jitter. It follows the cluster's list of members, and moves to another member when the spread asks for it: the
// new connection answers before the old one is retired. A retired link still works until its last user lets go; who keeps a
// stream on it moves the stream when he sees Retired.
//
// Whoever finds that a link gives no good answers fails it, and the next Get waits for another member.
//
// Run is the Pool's one goroutine. A Pool never gives up by itself; the context of a Get does.
package conn
