package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// ExitInterrupted is the exit code after Ctrl-C of a command that did not do what it was for.
const ExitInterrupted = 130

// Explain turns an error of a command into what people read, with what to do next, and the exit code.
func Explain(timeout time.Duration, err error) error {
	var exit *ExitError
	if err == nil || errors.As(err, &exit) {
		return err
	}
	if unreachable := new(UnreachableError); errors.As(err, &unreachable) {
		return &ExitError{Code: ExitUnavailable, Err: errors.New(unreachable.Error() + toMembers(unreachable.Cause()))}
	}
	if stranger := new(StrangerError); errors.As(err, &stranger) {
		return &ExitError{Code: ExitUnavailable, Err: errors.New(stranger.Error() + strangeText(ErrorText(stranger.Err)))}
	}
	if ended := new(SessionEndedError); errors.As(err, &ended) {
		return RefusedError("%s; `tenure session info %s` shows more", ended.Error(), ended.ID)
	}
	text := Printable(ErrorText(err))
	switch {
	case errors.Is(err, ErrOutcomeUnknown):
		return &ExitError{Code: ExitUnavailable, Err: fmt.Errorf("%w: check whether it was made before you retry", ErrOutcomeUnknown)}
	case errors.Is(err, context.Canceled), status.Code(err) == codes.Canceled:
		return SilentExit(ExitInterrupted)
	case errors.Is(err, context.DeadlineExceeded), status.Code(err) == codes.DeadlineExceeded:
		return &ExitError{Code: ExitUnavailable, Err: fmt.Errorf("no answer within %v%s: try `tenure status`, or a longer --timeout",
			timeout, lateText(err))}
	}
	code := ExitRefused
	if status.Code(err) == codes.Unavailable || errors.Is(err, tenure.ErrUnavailable) {
		code = ExitUnavailable
	}
	if next := adviceFor(errorinfo.Reason(err), errorinfo.Fact(err, "key")); next != "" {
		text += ": " + next
	}
	return &ExitError{Code: code, Err: errors.New(text)}
}

// forFlags puts flags in place of the parameters of a connection string.
var forFlags = strings.NewReplacer("set ca_file to", "set --ca-file to", "set cert_file and key_file", "set --cert-file and --key-file",
	"set server_name", "set --server-name", "who signed cert_file", "who signed --cert-file")

// orMembers says of a port that wants another certificate what it may be.
const orMembers = ", unless this is the port for members"

// forMembers says what helps where it is a member that cannot be connected to.
var forMembers = strings.NewReplacer("use tenures://", "give --ca-file, or tenures:// in --endpoints",
	"set --cert-file and --key-file", "set --cert-file and --key-file"+orMembers, "that it has not expired", "that it has not expired"+orMembers)

// toMembers says why no member answered, and what to do unless that says it.
func toMembers(cause string) string {
	text := " (" + forMembers.Replace(cause) + ")"
	switch {
	case strings.HasPrefix(cause, "it closed "):
		return text + ": --endpoints takes gRPC addresses (default port 7400)"
	case strings.HasPrefix(cause, "it "), strings.HasPrefix(cause, tlsFailed): // Something answered.
		return text
	default:
		return text + ": is `tenure serve` running? --endpoints takes gRPC addresses (default port 7400)"
	}
}

// strangeText says what answered in place of a member's port for clients, and what to do.
func strangeText(said string) string {
	switch {
	case strings.Contains(said, "unexpected HTTP status code"): // So gRPC calls an answer of HTTP/2.
		return " (it does not speak gRPC: is this an HTTP port? gRPC's is 7400 by default)"
	case strings.HasPrefix(said, "unknown service"):
		said += "; is this the port for members?"
	}
	return " (" + Printable(said) + "): use the gRPC address, which is --listen of `tenure serve` (default port 7400)"
}

// ignoredCert ends the refusal of a caller whose certificate the member did not look at.
const ignoredCert = "; the certificate of --cert-file counts only at members with --client-ca-file"

// Explain is the function Explain for an error of a command with these flags.
func (e *Environment) Explain(err error) error {
	told := Explain(e.Timeout, err)
	exit, ok := errors.AsType[*ExitError](told)
	if !ok || exit.Err == nil || e.Security.Dialing.Cert == "" || !strings.HasPrefix(exit.Error(), "callers without a credential ") {
		return told
	}
	return &ExitError{Code: exit.Code, Err: errors.New(exit.Error() + ignoredCert)}
}

// nothingChanged is how members end an error after which nothing was changed.
const nothingChanged = "; nothing was changed"

// lateText tells what was said before the time was over, and whether something may have been changed.
func lateText(err error) (said string) {
	if errors.Is(err, ErrFellSilent) {
		return ""
	}
	before, unchanged := "", NothingApplied(err)
	if late := new(lateError); errors.As(err, &late) {
		before, unchanged = ErrorText(late.before), unchanged && NothingApplied(late.before)
	}
	if failed, ok := errors.AsType[*tenure.Error](err); ok {
		// The client tells that the time was over, and then of its last attempt.
		_, before, _ = strings.Cut(failed.Message, "; ")
		unchanged = failed.Applied == tenure.AppliedNo
	}
	if !unchanged {
		before = strings.TrimSuffix(before, nothingChanged) // It was said of one attempt.
	}
	if before != "" && before != context.DeadlineExceeded.Error() {
		said = "; before that: " + Printable(before)
	}
	if !unchanged {
		said += "; it is not known whether a change was made"
	}
	return said
}

// NotTold says why the cluster could not be told of an end, for people who see that the program ends anyway.
func NotTold(err error) string {
	failed, ok := errors.AsType[*tenure.Error](err)
	if !ok || !errors.Is(err, tenure.ErrUnavailable) && !errors.Is(err, tenure.ErrOutcomeUnknown) {
		return Printable(ErrorText(err))
	}
	// The client tells that the time was over, and then of its last attempt.
	_, last, _ := strings.Cut(failed.Message, "; ")
	switch addresses, found := strings.CutPrefix(last, "no member could be reached: "); {
	case found:
		return "no member answered at " + Printable(addresses)
	case last == "":
		return "no member answered in time"
	default:
		return Printable(last)
	}
}

// plainCause returns why a connection failed, without the address that is named already.
func plainCause(err error) string {
	op, ok := err.(*net.OpError) //nolint:errorlint // An error that wraps one has words of its own.
	if !ok {
		return err.Error()
	}
	if number, ok := errors.AsType[syscall.Errno](op); ok {
		return number.Error()
	}
	return op.Err.Error()
}

// plainKey is a short key that a shell takes as it is.
var plainKey = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./][A-Za-z0-9_@%+=:,./-]{0,127}$`)

// adviceFor returns what to do after a refusal, or nothing if the refusal says it all. The key is the one that the refusal is about, if it is about one.
func adviceFor(reason tenurev1.ErrorReason, key string) string {
	if !plainKey.MatchString(key) {
		key = "KEY"
	}
	switch reason {
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND:
		return "`tenure session list` shows the live ones"
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_ID_INVALID:
		return "give the id that `tenure session create` printed"
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED:
		return "`tenure session info ID` shows why; create another one"
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG:
		return "set TENURE_SESSION_SECRET, or --session-secret, to what `tenure session create --secret` printed"
	case tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED:
		return "`tenure kv get --detailed " + key + "` shows its revision"
	case tenurev1.ErrorReason_ERROR_REASON_FENCING_TOKEN_STALE:
		return "`tenure lock info " + key + "` shows how that hold ended"
	case tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER,
		tenurev1.ErrorReason_ERROR_REASON_STOPPING:
		return "try again in a moment; `tenure status` shows the members"
	case tenurev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN:
		return "check whether it was made before you retry"
	case tenurev1.ErrorReason_ERROR_REASON_REVISION_COMPACTED, tenurev1.ErrorReason_ERROR_REASON_WATCHER_TOO_SLOW,
		tenurev1.ErrorReason_ERROR_REASON_HISTORY_CHANGED:
		return "events were missed; start again from the current state with --initial"
	case tenurev1.ErrorReason_ERROR_REASON_REVISION_FUTURE:
		return "`tenure status` shows the current revision"
	case tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_KEYS:
		return "delete in smaller parts, with longer prefixes"
	case tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS:
		return "try again in a moment"
	case tenurev1.ErrorReason_ERROR_REASON_QUOTA_EXCEEDED:
		return "`tenure status` shows what is full, and what to do"
	default:
		return ""
	}
}
