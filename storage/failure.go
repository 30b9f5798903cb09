package storage

import (
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// failure is failureOf as the state knows it: with a text under cluster version 1, with its detail and arguments from
// version 2 on.
func (w *work) failure(err error) *storev1.Failure {
	f := failureOf(err)
	if f != nil && w.state.ClusterVersion < version2 && f.GetDetail() != storev1.FailureDetail_FAILURE_DETAIL_UNSPECIFIED {
		f.Message = fmt.Sprintf(texts[f.GetDetail()], named(f.GetArguments())...)
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
	case SessionID:
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
			id, err := SessionIDFromBytes(kind.SessionId)
			if err != nil {
				out = append(out, fmt.Sprintf("%x", kind.SessionId))
				continue
			}
			out = append(out, id)
		case *storev1.FailureArgument_Mode:
			out = append(out, formatEnum(kind.Mode.Descriptor(), kind.Mode.Number()))
		}
	}
	return out
}

// FailureText returns what people read of a failure. It is no part of the state, and may be worded otherwise by another
// program.
func FailureText(f *storev1.Failure) string {
	if f.GetMessage() != "" || f.GetDetail() == storev1.FailureDetail_FAILURE_DETAIL_UNSPECIFIED {
		return f.GetMessage()
	}
	format, ok := reworded[f.GetDetail()]
	if !ok {
		format, ok = texts[f.GetDetail()]
	}
	if !ok { // Of a newer member, carried to this one.
		return formatEnum(f.GetReason().Descriptor(), f.GetReason().Number())
	}
	text := fmt.Sprintf(format, named(f.GetArguments())...)
	if len(f.GetOperations()) > 0 {
		text = positioned(f, text)
	}
	return text
}

// positioned returns the text of a transaction's first failing operation, with which it was.
func positioned(f *storev1.Failure, text string) string {
	of := ""
	if f.GetElseOps() {
		of = " of otherwise"
	}
	return fmt.Sprintf("operation %d%s: %s", f.GetPosition(), of, text)
}
