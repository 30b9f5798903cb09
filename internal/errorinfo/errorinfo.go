// Package errorinfo reads what a member says about an error: the details that docs/rest.md and the proto's ErrorReason describe. Clients of every
// kind use it: the library, the command line, agents and Consul's HTTP API.
package errorinfo

import (
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// prefix is that of the names of reasons, which are sent without it.
const prefix = "ERROR_REASON_"

// Of returns what a member says about an error; nil if it says nothing, or no member answered. Its methods may be called all the same.
func Of(err error) *errdetails.ErrorInfo {
	s, ok := status.FromError(err)
	if !ok {
		return nil
	}
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info
		}
	}
	return nil
}

// Reason returns the reason of an error, or ERROR_REASON_UNSPECIFIED if it has none that this program knows. A proxy that writes the enum's whole
// name is understood, too.
func Reason(err error) tenurev1.ErrorReason {
	return tenurev1.ErrorReason(tenurev1.ErrorReason_value[prefix+strings.TrimPrefix(Of(err).GetReason(), prefix)])
}

// Name returns the name of a reason as members send it.
func Name(reason tenurev1.ErrorReason) string { return reason.String()[len(prefix):] }

// Fact returns a fact about an error by its name; empty if there is none.
func Fact(err error, name string) string { return Of(err).GetMetadata()[name] }
