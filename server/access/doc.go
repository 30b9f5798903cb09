// Package access decides who may do what. An Authority is asked for every message of every call; what it allows, it allows by
// the policies that this member has applied, and it says no only after it has looked at what the cluster has now.
//
// It promises that what no rule allows is refused when the mode says so, that a message without a row in the table is
// refused, that a change is proposed under the deny revision at which it was decided, and that streams end that a
// change of rights no longer allows. In mode off it looks at nothing and allocates nothing, except for calls about tokens and
// policies themselves, which are guarded always.
//
// It knows rules and rows, and no service.
package access
