// Package reason makes one kind of error of whatever goes wrong: an Error of the API, with a reason that programs branch
// on, its facts, and what became of the change that was asked for.
//
// One table (table.go) says what each reason means over gRPC and over REST, whether the change may be applied, when to
// try again, and which broken rules of the state machine have it. Domain errors of storage, raftnode and watch meet a
// gRPC code here and nowhere else.
//
// It promises that an error it does not know becomes INTERNAL with a fixed text: its caller logs the cause. It never
// repeats more than a bounded part of what a client sent.
package reason
