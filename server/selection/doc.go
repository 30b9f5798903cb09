// Package selection has what a watch selects, in normal form, and the tokens with which it resumes.
//
// It promises that a resume token is good only for a watch of the same things in the same history, at any member. REST and
// the watch service use it alike; it has no state.
package selection
