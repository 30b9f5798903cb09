// Package call has what all services share: the limits of requests and their checks, the conversion between the API's
// messages and the state's, and page tokens.
//
// It promises that what passes its checks is within the limits that docs/operations.md names, and that whatever it refuses
// is refused with a reason and the name of the field. It has no state.
package call
