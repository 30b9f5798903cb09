package antientropy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

const (
	// refusalsShown is how many refused entries an error names.
	refusalsShown = 8
	// needsService begins the right that a call lacks, in the fact "needs" of PERMISSION_DENIED, where it is about one service.
	needsService = "service "
)

// refusal is an entry that the cluster refused.
type refusal struct {
	// entry is what the agent has; nil: the entry was to be deleted.
	entry proto.Message
	err   error
	// freed means that the cluster accepted the service of this check since.
	freed bool
}

// stands reports whether trying again would not help, because the agent still has what was refused. A right does not depend on the content of an
// entry, only on its service.
func (r refusal) stands(now proto.Message) bool {
	if r.freed {
		return false
	}
	if errorinfo.Reason(r.err) != tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED {
		return proto.Equal(now, r.entry)
	}
	switch of := r.entry.(type) {
	case *tenurev1.Service:
		service, is := now.(*tenurev1.Service)
		return is && service.GetName() == of.GetName()
	case *tenurev1.Check:
		check, is := now.(*tenurev1.Check)
		return is && check.GetServiceId() == of.GetServiceId()
	default:
		return now == nil // It is still to be deleted.
	}
}

// refusals are entries that the cluster refused, by their keys: ServiceKey and CheckKey, or deleteKey of one of them.
type refusals map[string]refusal

// deleteKey returns the key of an entry that is to be deleted.
func deleteKey(of string) string { return "-" + of }

// entryKey returns the key of an entry that may be to be deleted.
func entryKey(of string) string { return strings.TrimPrefix(of, deleteKey("")) }

// title names an entry for people by its key.
func title(key string) string {
	if of, is := strings.CutPrefix(key, deleteKey("")); is {
		return "deletion of " + title(of)
	}
	if strings.HasPrefix(key, CheckKey("")) {
		return "check " + key[1:]
	}
	return "service " + key[1:]
}

// difference is difference without what was refused.
func (r refusals) difference(catalog, agent rows, of ids, outputs bool) *batch {
	b := difference(catalog, agent, of, outputs)
	b.leaveOut(r.stands)
	return b
}

// stands reports whether an entry was refused, and trying it again would not help.
func (r refusals) stands(key string, now proto.Message) bool {
	of, is := r[key]
	return is && of.stands(now)
}

// keep forgets the refusals of entries that no longer need a change.
func (r refusals) keep(open *batch) {
	there := map[string]bool{}
	open.each(func(key string, _ proto.Message) { there[key] = true })
	maps.DeleteFunc(r, func(key string, _ refusal) bool { return !there[key] })
}

// has reports whether an entry was refused.
func (r refusals) has(key string) bool {
	_, is := r[key]
	return is
}

// free lets checks of a service be tried again.
func (r refusals) free(service string) {
	for key, of := range r {
		if check, is := of.entry.(*tenurev1.Check); is && check.GetServiceId() == service {
			of.freed = true
			r[key] = of
		}
	}
}

// freed reports whether a check is to be tried again.
func (r refusals) freed() bool {
	for _, of := range r {
		if of.freed {
			return true
		}
	}
	return false
}

// err says which entries were refused, and why; nil: none was. It is for rounds that wrote everything else.
func (r refusals) err() error {
	if len(r) == 0 {
		return nil
	}
	var b strings.Builder
	entries := "1 entry"
	if len(r) > 1 {
		entries = fmt.Sprintf("%d entries", len(r))
	}
	fmt.Fprintf(&b, "the cluster refused %s, and has all others", entries)
	// Services come before their checks, and deletions last.
	keys := slices.SortedFunc(maps.Keys(r), func(a, b string) int {
		return cmp.Or(cmp.Compare(b[0], a[0]), cmp.Compare(a, b))
	})
	for i, key := range keys {
		if i == refusalsShown {
			fmt.Fprintf(&b, "; and %d more", len(r)-i)
			break
		}
		fmt.Fprintf(&b, "; %s: %v", title(key), r[key].err)
	}
	return errors.New(b.String())
}

// refused reports whether the cluster refused an entry, and may accept others, so that trying the same again does not help. A token that lacks the
// right to the node itself, or any right at all, may write no entry.
func refused(err error) bool {
	switch errorinfo.Reason(err) {
	case tenurev1.ErrorReason_ERROR_REASON_SERVICE_NOT_FOUND, tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED,
		tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE:
		return true
	case tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED:
		return strings.HasPrefix(errorinfo.Fact(err, "needs"), needsService)
	default:
		return status.Code(err) == codes.InvalidArgument
	}
}

// outOfRoom reports whether the cluster has no room for what makes it grow.
func outOfRoom(err error) bool {
	return errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_QUOTA_EXCEEDED
}
