package rule

import (
	"errors"
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
)

// Error carries a broken rule up to the end of its command, where it becomes the Failure of the Result.
type Error struct {
	Failure *storev1.Failure
}

// Error returns the failure's text.
func (e *Error) Error() string { return Text(e.Failure) }

// Broken returns the error for a broken rule, with how exactly it was broken and what the text of that names: integers, names,
// sessions and modes.
func Broken(reason storev1.FailureReason, detail storev1.FailureDetail, arguments ...any) *Error {
	f := &storev1.Failure{Reason: reason, Detail: detail}
	for _, a := range arguments {
		f.Arguments = append(f.Arguments, failureArgument(a))
	}
	return &Error{Failure: f}
}

// Invalid returns the failure of a command that the server should have refused.
func Invalid(detail storev1.FailureDetail, arguments ...any) error {
	return Broken(storev1.FailureReason_FAILURE_REASON_INVALID_COMMAND, detail, arguments...)
}

// Exceeded returns the failure of a limit that is reached.
func Exceeded(limit string, value uint64) error {
	f := Broken(storev1.FailureReason_FAILURE_REASON_LIMIT_EXCEEDED, storev1.FailureDetail_FAILURE_DETAIL_LIMIT_REACHED, limit, value)
	f.Failure.LimitName = limit
	f.Failure.Limit = value
	return f
}

// Of returns the broken rule that err carries, or nil if err is something worse.
func Of(err error) *storev1.Failure {
	if rule, ok := errors.AsType[*Error](err); ok {
		return rule.Failure
	}
	return nil
}

// At is Of as a state of a cluster version knows it: with a text under version 1, with its detail and arguments from
// version 2 on.
func At(version uint32, err error) *storev1.Failure {
	f := Of(err)
	if f != nil && version < layout.Version2 && f.GetDetail() != storev1.FailureDetail_FAILURE_DETAIL_UNSPECIFIED {
		f.Message = fmt.Sprintf(Texts[f.GetDetail()], named(f.GetArguments())...)
		f.Detail, f.Arguments = storev1.FailureDetail_FAILURE_DETAIL_UNSPECIFIED, nil
	}
	return f
}

// failureArgument returns what a text names, as a failure holds it. An argument of another kind is a bug here.
func failureArgument(a any) *storev1.FailureArgument {
	number := func(n uint64) *storev1.FailureArgument {
		return &storev1.FailureArgument{Kind: &storev1.FailureArgument_Number{Number: n}}
	}
	switch a := a.(type) {
	case int:
		return number(uint64(a))
	case uint32:
		return number(uint64(a))
	case uint64:
		return number(a)
	case string:
		return &storev1.FailureArgument{Kind: &storev1.FailureArgument_Name{Name: []byte(a)}}
	case layout.SessionID:
		return &storev1.FailureArgument{Kind: &storev1.FailureArgument_SessionId{SessionId: a[:]}}
	case storev1.LockMode:
		return &storev1.FailureArgument{Kind: &storev1.FailureArgument_Mode{Mode: a}}
	default:
		panic(fmt.Sprintf("argument of a failure: %T", a))
	}
}

// named returns what a text names, as fmt takes it.
func named(arguments []*storev1.FailureArgument) []any {
	out := make([]any, 0, len(arguments))
	for _, a := range arguments {
		switch kind := a.GetKind().(type) {
		case *storev1.FailureArgument_Number:
			out = append(out, kind.Number)
		case *storev1.FailureArgument_Name:
			out = append(out, string(kind.Name))
		case *storev1.FailureArgument_SessionId:
			id, err := layout.SessionIDFromBytes(kind.SessionId)
			if err != nil {
				out = append(out, fmt.Sprintf("%x", kind.SessionId))
				continue
			}
			out = append(out, id)
		case *storev1.FailureArgument_Mode:
			out = append(out, layout.FormatEnum(kind.Mode.Descriptor(), kind.Mode.Number()))
		}
	}
	return out
}

// Text returns what people read of a failure. It is no part of the state, and may be worded otherwise by another
// program.
func Text(f *storev1.Failure) string {
	if f.GetMessage() != "" || f.GetDetail() == storev1.FailureDetail_FAILURE_DETAIL_UNSPECIFIED {
		return f.GetMessage()
	}
	format, ok := Reworded[f.GetDetail()]
	if !ok {
		format, ok = Texts[f.GetDetail()]
	}
	if !ok { // Of a newer member, carried to this one.
		return layout.FormatEnum(f.GetReason().Descriptor(), f.GetReason().Number())
	}
	text := fmt.Sprintf(format, named(f.GetArguments())...)
	if len(f.GetOperations()) > 0 {
		text = Positioned(f, text)
	}
	return text
}

// Positioned returns the text of a transaction's first failing operation, with which it was.
func Positioned(f *storev1.Failure, text string) string {
	of := ""
	if f.GetElseOps() {
		of = " of otherwise"
	}
	return fmt.Sprintf("operation %d%s: %s", f.GetPosition(), of, text)
}
