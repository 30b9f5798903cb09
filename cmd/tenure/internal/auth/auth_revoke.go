package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// revokeRight is the right to revoke a token that is not one's own, as a rule.
const revokeRight = "admin write"

// revocation is a revocation of a token under way.
type revocation struct {
	env *cli.Environment
	// accessor is that of the token; empty: the caller's own.
	accessor string
	// endSessions says that the sessions that were opened with the token, or with one that ends with it, are ended.
	endSessions bool
	mode        tenurev1.AuthMode
	// family are the accessors of the tokens that end, as far as they are known: the token's own first.
	family []string
	// own says that the caller's token is among them, so that nothing can be asked after the revocation.
	own bool
	// parent says that the caller's token descends from the one that is revoked.
	parent bool
	last   bool
	// inDoubt says that an attempt to revoke the token may have done so without an answer.
	inDoubt  bool
	sessions openedSessions
}

// newAuthTokenRevokeCommand returns `tenure auth token revoke`.
func newAuthTokenRevokeCommand(env *cli.Environment) *cobra.Command {
	var self bool
	r := &revocation{env: env}
	cmd := &cobra.Command{
		Use:   "revoke ACCESSOR|--self",
		Short: "Revoke a token",
		Long: `Revoke a token, with its children, their children and so on. Once this command has succeeded, no change that one of them
would have allowed takes effect. If there is no such token, the exit code is 1: it may have been revoked before.

The sessions that were opened with these tokens stay, with their locks: with mode enforce they can no longer be renewed
with them, and end when their TTL is over. Those without TTL live until they are ended. The command lists both, which
takes the rights "admin read" and "session * read". With --end-sessions it ends them, which takes "session * break", and
run again it does so for a token that was revoked before; the exit code is then 0 if there were sessions to end. Locks
become free after the lock-delay of their session. With --self, or a parent of your own token, sessions are listed and
ended before the token is revoked, so one that is opened in between stays.`,
		Example: `  tenure auth token revoke 6f2c1a4e-0b1d-4c3e-9a57-1f2e3d4c5b6a
  tenure auth token revoke 6f2c1a4e-0b1d-4c3e-9a57-1f2e3d4c5b6a --end-sessions`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if r.accessor, err = accessorOf(args, self); err != nil {
				return err
			}
			return r.run(cmd.Context())
		},
	}
	addSelf(cmd, &self)
	cmd.Flags().BoolVar(&r.endSessions, "end-sessions", false, "end the sessions that were opened with the token or its children")
	return cmd
}

// run revokes the token, and tells what became of the sessions that were opened with it.
func (r *revocation) run(ctx context.Context) error {
	if err := r.look(ctx); err != nil {
		return err
	}
	if len(r.family) > 1 {
		r.env.Notef("The tokens that descend from it end with it: %s", strings.Join(r.family[1:], " "))
	}
	if r.own {
		if err := r.mayRevoke(ctx); err != nil {
			return err
		}
		r.sessions.find(ctx, r.env, r.family, r.endSessions)
	}
	answer, err := r.revoke(ctx)
	if err != nil {
		if failed := r.printFailed(); failed != nil {
			return failed
		}
		return err
	}
	if answer.GetRevoked() && r.last {
		r.env.Notef("That was the last token with the policy %s; `tenure auth reset` makes another one.", adminPolicy)
	}
	unknown := 0 // Tokens whose sessions were not looked for.
	for _, gone := range answer.GetAccessors() {
		if !slices.Contains(r.family, gone) {
			r.family = append(r.family, gone)
			unknown++
		}
	}
	if !r.own {
		r.sessions.find(ctx, r.env, r.family, r.endSessions)
	} else if unknown > 0 {
		r.env.Notef("The sessions of %s that ended with it are not shown: an administrator finds them with `tenure session list --principal token:ACCESSOR`, "+
			"for the accessors %s", cli.Counted(unknown, "token"), strings.Join(r.family[len(r.family)-unknown:], " "))
	}
	return r.print(answer)
}

// look finds out which tokens will end, as far as the caller may know. If it matters whose token the caller's is, it fails if that is not known.
func (r *revocation) look(ctx context.Context) error {
	var me *tenurev1.WhoAmIResponse
	err := callAuth(ctx, r.env, cli.MayRepeat, func(ctx context.Context, auth tenurev1.AuthServiceClient) (err error) {
		me, err = auth.WhoAmI(ctx, &tenurev1.WhoAmIRequest{})
		return err
	})
	mine := ""
	if err != nil && (r.accessor == "" || r.endSessions) {
		return err
	}
	if err == nil {
		r.mode = me.GetMode()
		if accessor, ok := strings.CutPrefix(me.GetPrincipal(), tokenPrincipal); ok {
			mine = accessor
		}
	}
	target := r.accessor
	if target == "" {
		target = mine
	}
	if target == "" {
		return nil // The revocation will fail, and say why.
	}
	if id, failed := uuid.Parse(target); failed == nil {
		target = id.String() // As principals have it.
	}
	r.family = []string{target}
	if all, failed := listTokens(ctx, r.env); failed == nil { // Not every caller may.
		r.last = lastAdmin(all, target)
		r.family = familyOf(all, target)
	}
	r.own = mine != "" && slices.Contains(r.family, mine)
	r.parent = r.own && mine != target
	return nil
}

// mayRevoke fails if the caller may not revoke the token, before sessions are ended for it. One's own takes no right.
func (r *revocation) mayRevoke(ctx context.Context) error {
	if !r.endSessions || !r.parent {
		return nil
	}
	var answer *tenurev1.CheckAccessResponse
	err := callAuth(ctx, r.env, cli.MayRepeat, func(ctx context.Context, auth tenurev1.AuthServiceClient) (err error) {
		answer, err = auth.CheckAccess(ctx, &tenurev1.CheckAccessRequest{Rule: revokeRight})
		return err
	})
	if err != nil || answer.GetAllowed() {
		return err
	}
	return &cli.ExitError{
		Code: cli.ExitRefused, Err: fmt.Errorf("to revoke the parent of your token takes the right %q; nothing was changed", revokeRight),
	}
}

// familyOf returns the accessor of a token, and those of all that descend from it.
func familyOf(all *tenurev1.ListTokensResponse, accessor string) []string {
	children := map[string][]string{}
	for _, t := range all.GetTokens() {
		if t.GetParent() != "" {
			children[t.GetParent()] = append(children[t.GetParent()], t.GetAccessor())
		}
	}
	family := []string{accessor}
	for i := 0; i < len(family); i++ {
		family = append(family, children[family[i]]...)
	}
	return family
}

// revoke revokes the token.
func (r *revocation) revoke(ctx context.Context) (answer *tenurev1.RevokeTokenResponse, err error) {
	before := false // An attempt before this one may have revoked it, and its answer was lost.
	err = callAuth(ctx, r.env, cli.MayRepeat, func(ctx context.Context, auth tenurev1.AuthServiceClient) (err error) {
		before = r.inDoubt
		answer, err = auth.RevokeToken(ctx, &tenurev1.RevokeTokenRequest{Accessor: r.accessor})
		r.inDoubt = r.inDoubt || err != nil && !cli.NothingApplied(err)
		return err
	})
	switch {
	case err == nil:
		// An older member does not say which tokens ended, and does not know how to list the sessions of some.
		r.sessions.older = answer.GetRevoked() && len(answer.GetAccessors()) == 0
		answer.Revoked = answer.GetRevoked() || before
	case before && r.own && status.Code(err) == codes.Unauthenticated:
		// The caller's token has ended.
		return &tenurev1.RevokeTokenResponse{Revoked: true}, nil
	}
	return answer, err
}

// printFailed prints which sessions were ended for a revocation that failed afterwards.
func (r *revocation) printFailed() error {
	s := &r.sessions
	if len(s.ended) == 0 {
		return nil
	}
	if r.env.JSON() {
		if err := r.printJSON(nil); err != nil {
			return err
		}
	} else {
		ended, _, _ := s.sorted()
		if err := printSessions(r.env, "Sessions that were ended", ended); err != nil {
			return err
		}
	}
	if r.inDoubt {
		r.env.Notef("It is not known whether the token is revoked.")
	} else {
		r.env.Notef("The token is not revoked.")
	}
	return nil
}

// print prints the outcome.
func (r *revocation) print(answer *tenurev1.RevokeTokenResponse) error {
	s := &r.sessions
	if r.env.JSON() {
		if err := r.printJSON(answer); err != nil {
			return err
		}
	} else if err := r.printText(answer.GetRevoked()); err != nil {
		return err
	}
	state := "the token is revoked"
	if !answer.GetRevoked() {
		state = "there is no token " + cli.Printable(r.accessor) + ": it was revoked before, or never was"
	}
	switch {
	case r.endSessions && s.err != nil:
		return &cli.ExitError{Code: cli.ExitRefused, Err: fmt.Errorf("%s, but %s: %s", state, s.failed(), cli.Printable(cli.ErrorText(s.err)))}
	case answer.GetRevoked(), r.endSessions && len(s.ended) > 0:
		return nil
	case r.env.JSON():
		return cli.SilentExit(cli.ExitRefused)
	default:
		return &cli.ExitError{Code: cli.ExitRefused, Err: errors.New(state)}
	}
}

// printText prints the outcome for people.
func (r *revocation) printText(revoked bool) error {
	s := &r.sessions
	if revoked {
		if err := r.env.Printf("Success! The token is revoked.\n"); err != nil {
			return err
		}
	}
	if s.err != nil && !r.endSessions {
		r.env.Notef("The sessions that were opened with it are not shown: %s", cli.Printable(cli.ErrorText(s.err)))
		return nil
	}
	ended, bounded, endless := s.sorted()
	inTime := "Sessions with a TTL"
	switch r.mode {
	case tenurev1.AuthMode_AUTH_MODE_UNSPECIFIED:
	case tenurev1.AuthMode_AUTH_MODE_ENFORCE:
		inTime = "Sessions that end when their TTL is over, as they can no longer be renewed with the token"
	default:
		inTime = "Sessions that can still be renewed, as the mode is " + modeWord(r.mode)
	}
	err := printSessions(r.env, "Sessions that were ended", ended)
	if err == nil {
		err = printSessions(r.env, inTime, bounded)
	}
	if err == nil {
		err = printSessions(r.env, "Sessions without TTL, which live until they are ended", endless)
	}
	if err != nil {
		return err
	}
	if len(bounded)+len(endless) > 0 && !r.endSessions && !r.own {
		r.env.Notef("`tenure auth token revoke %s --end-sessions` ends them.", r.family[0])
	}
	return nil
}

// printJSON prints the outcome as one document: the answer if there is one, with the sessions that were found and those of them that were ended.
func (r *revocation) printJSON(answer *tenurev1.RevokeTokenResponse) error {
	s := &r.sessions
	document := map[string]json.RawMessage{}
	found := map[string]json.RawMessage{}
	var line []byte
	var err error
	if answer != nil {
		if line, err = cli.JSONLine(answer); err == nil {
			err = json.Unmarshal(line, &document)
		}
	}
	if err == nil {
		line, err = cli.JSONLine(&tenurev1.ListSessionsResponse{Sessions: s.found})
	}
	if err == nil {
		err = json.Unmarshal(line, &found)
	}
	if err != nil {
		return err
	}
	if s.listed {
		document["sessions"] = found["sessions"]
	}
	if r.endSessions {
		ended := slices.AppendSeq([]string{}, maps.Keys(s.ended))
		slices.Sort(ended)
		if document["endedSessions"], err = json.Marshal(ended); err != nil {
			return err
		}
	}
	if s.err != nil {
		if document["sessionsError"], err = json.Marshal(cli.ErrorText(s.err)); err != nil {
			return err
		}
	}
	out, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	return r.env.Printf("%s\n", out)
}
