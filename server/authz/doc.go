// Package authz decides what a caller may do. It is pure: what a message needs, and which rules give it, are functions of their
// arguments alone, without a clock, a disk, a network or a lock.
//
// It promises:
//
//   - One table says what each field of each message that a client may send needs (rows*.go). A message without a row is an
//     error, and the caller denies it. A field without a row fails the tests.
//   - A need is met by one rule whose selector contains all of it. A rule with an exact name never covers a prefix or a range,
//     and only a rule for everything covers a range without end.
//   - Rules only allow. A caller's rights are the union of its policies, in any order.
//
// What a message names only by id, such as a session, the caller of this package looks up, and completes the need with it
// (Need.OfSession, Need.OfService). A need that is not completed is covered only by a rule for everything of its kind.
package authz
