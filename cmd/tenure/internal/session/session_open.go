package session

import (
	"context"
	"crypto/rand"
	"os"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// nameBytesMax is the longest name of a session.
const nameBytesMax = 256

// Describe fills in what helps a human to find what is behind a session. Command is what this process runs while the
// session lives. Without one the session outlives this process, and names none.
func Describe(e *cli.Environment, request *tenurev1.CreateSessionRequest, command string) {
	host, _ := os.Hostname() // Without a name of its own the machine has none here either.
	who := ""
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	if request.GetNode() == "" {
		request.Node = Clip(host)
	}
	if request.GetName() == "" {
		request.Name = Clip(who + "@" + host)
	}
	request.Metadata = map[string]string{
		"host":     Clip(host),
		"program":  "tenure",
		"user":     Clip(who),
		"language": runtime.Version(),
		"version":  Clip("tenure " + e.Version),
	}
	if command != "" {
		request.Metadata["pid"], request.Metadata["command"] = strconv.Itoa(os.Getpid()), Clip(command)
	}
	// A command under a lock may open sessions: what they wait for, the lock's session waits for.
	var parents []string
	for _, variable := range []string{"TENURE_SESSION_ID", "TENURE_LOCK_SESSION"} {
		if id, set := e.Getenv(variable); set && id != "" {
			parents = append(parents, id)
		}
	}
	if len(parents) > 0 {
		request.Metadata[ParentsEntry] = Clip(strings.Join(parents, ","))
	}
}

// Clip cuts text to what a name may have, at the end of a character.
func Clip(text string) string {
	if len(text) <= nameBytesMax {
		return text
	}
	text = text[:nameBytesMax]
	for len(text) > 0 {
		if r, size := utf8.DecodeLastRuneInString(text); r != utf8.RuneError || size != 1 {
			return text
		}
		text = text[:len(text)-1]
	}
	return text
}

// NewSecret returns a secret that nobody can guess.
func NewSecret() []byte {
	secret := make([]byte, cli.SecretBytes)
	_, _ = rand.Read(secret) // It never fails; see crypto/rand.
	return secret
}

// openSession makes a session for others to use.
func openSession(
	ctx context.Context, e *cli.Environment, c *tenure.Client, request *tenurev1.CreateSessionRequest,
) (*tenurev1.CreateSessionResponse, error) {
	var answer *tenurev1.CreateSessionResponse
	err := c.Change(ctx, func(ctx context.Context, member grpc.ClientConnInterface, once *tenurev1.CallOptions) (err error) {
		request.Options = once
		answer, err = tenurev1.NewSessionServiceClient(member).CreateSession(ctx, request)
		return err
	})
	if err != nil {
		return nil, err
	}
	NoteTTL(e, request.GetTtl().AsDuration(), answer.GetTtl().AsDuration())
	answer.Secret = request.GetSecret()
	return answer, nil
}

// NoteTTL tells people that another TTL was granted.
func NoteTTL(e *cli.Environment, asked, granted time.Duration) {
	if asked != granted {
		e.Notef("Note: the TTL is %v instead of the requested %v.", granted, asked)
	}
}

// protoDuration returns a duration that is set only if the flag was.
func protoDuration(set bool, d time.Duration) *durationpb.Duration {
	if !set {
		return nil
	}
	return durationpb.New(d)
}

// ParentsEntry names, in a session's metadata, the sessions under which the command that opened it runs.
const ParentsEntry = "parent_sessions"
