package tenure

import "google.golang.org/protobuf/proto"

// sendable returns ErrInvalidArgument for a message that cannot be sent because a text in it is not UTF-8. Found out by sending it, it would
// look like a fault of the service after which something may be applied.
func sendable(m proto.Message) error {
	if _, err := proto.Marshal(m); err != nil {
		return invalid("%v", err)
	}
	return nil
}
