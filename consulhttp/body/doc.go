// Package body has what programs send to register services and checks with an agent, and which message of the API each body means.
//
// What Tenure does not have is refused, and not ignored. The package makes no call.
package body
