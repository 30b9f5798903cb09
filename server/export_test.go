package server

import "google.golang.org/grpc/status"

// NewError makes an error of the API, for tests of the table.
var NewError = newError

// ToStatus makes the status of an error, for tests of the table.
func ToStatus(err error, requestID string) (s *status.Status, internal bool) {
	return toStatus(err, requestID)
}
