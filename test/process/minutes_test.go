package process_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// minuteToken is how long the tokens of TestATokenEndsEveryMinute last: no shorter one can be made.
const minuteToken = time.Minute

// TestATokenEndsEveryMinute gives a client tokens that end after a minute, and replaces its file before that: no write fails, and session and lock
// live on. Then the file is late: the session is suspended, and its lock is still held. With the next token it is connected again, and after a
// gap longer than its TTL it has ended.
func TestATokenEndsEveryMinute(t *testing.T) {
	if scale(0, 1) == 0 {
		t.Skip("it takes five minutes: TENURE_SOAK=1 runs it")
	}
	ctx := t.Context()
	r := newRotation(t)
	r.issue("first")
	r.trust("first")
	r.c = rig.StartSecuredCluster(ctx, t, binary, 3, r.dir, func(int) []string { return rig.SecuredPeers(r.dir) })
	conn := r.c.Members[0].Dial()
	defer func() { _ = conn.Close() }()
	admin := withToken(ctx, bootstrapped(ctx, t, r.c))
	ends := r.minute(admin, conn)
	client, err := r.client()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	const ttl = 20 * time.Second
	session, err := client.OpenSession(ctx, tenure.WithTTL(ttl))
	if err != nil {
		t.Fatal(err)
	}
	held, err := session.Lock("lock").Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	write := func(n int) (err error) {
		call, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		_, err = client.KV().Put(call, "key", []byte(strconv.Itoa(n)))
		return err
	}
	writes, tokens := 0, 1
	for began := time.Now(); time.Since(began) < 150*time.Second; writes++ {
		if time.Until(ends) < 20*time.Second {
			ends = r.minute(admin, conn)
			tokens++
		}
		if err = write(writes); err != nil {
			t.Fatalf("write %d, %v after the first, with token %d: %v", writes, time.Since(began), tokens, err)
		}
		wait(ctx, 20*time.Millisecond)
	}
	if state, _ := session.State(); state != tenure.StateConnected || held.Err() != nil {
		t.Fatalf("with a token in time the session is %v, and its lock %v", state, held.Err())
	}
	t.Logf("%d writes with %d tokens that each lasted %v", writes, tokens, minuteToken)

	is := func(wanted tenure.State) func() bool {
		return func() bool {
			state, _ := session.State()
			return state == wanted
		}
	}
	until(ctx, t, "the suspension of the session", is(tenure.StateSuspended))
	if err = held.Err(); err != nil || time.Now().Before(ends) {
		t.Errorf("while it is suspended, %v before the token's end, the lock is lost: %v", time.Until(ends), err)
	}
	if err = write(-1); err == nil {
		t.Error("a write with a token that has ended is made")
	} else {
		t.Logf("%v after the token's end: %v; the session: %v", time.Since(ends), err, session.Refusal())
	}
	ends = r.minute(admin, conn)
	until(ctx, t, "the session with the next token", is(tenure.StateConnected))
	if err = held.Err(); err != nil {
		t.Errorf("the lock did not outlast the gap: %v", err)
	}
	if err = write(-2); err != nil {
		t.Errorf("with the next token: %v", err)
	}

	until(ctx, t, "the end of the session", func() bool { return held.Err() != nil })
	if time.Since(ends) < ttl/2 {
		t.Errorf("the lock is lost %v after the token's end", time.Since(ends))
	}
	r.minute(admin, conn)
	until(ctx, t, "a session that knows its end", is(tenure.StateClosed))
	t.Logf("the lock: %v; the session: %v", held.Err(), session.Err())
}

// minute gives the client a token that lasts a minute, and returns when it ends.
func (r *rotation) minute(admin context.Context, conn *grpc.ClientConn) time.Time {
	r.t.Helper()
	made, err := tenurev1.NewAuthServiceClient(conn).CreateToken(admin, &tenurev1.CreateTokenRequest{
		Name: "web", Policies: []string{"web"}, Ttl: durationpb.New(minuteToken),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.write("token", []byte(made.GetText()))
	return made.GetToken().GetExpireTime().AsTime()
}
