// Package quota knows the limits of the state: their defaults, what they can be set to, and what is in use of them.
//
// Everything here is computed from values. Which limits were set is read and written by storage.
package quota
