package hostile_test

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

const (
	// answersMiB is what one caller may pin in answers that it does not read: half of what there is.
	answersMiB = 128
	// partKiB is what a stream takes on the average that is not read: 64 KiB and 32 for the call, and of a third of them, which
	// are watches and backups, a part of 256 KiB.
	partKiB = 64 + 32 + 256/3
)

// unreadAttacks ask for much and read nothing.
func unreadAttacks() []attack {
	return []attack{
		{
			entry: "S10", name: "renewals that are never read", attack: renewUnread,
			pins: func(long bool) int { return 1 + unreadRenewals(long)/2 },
		},
		{
			entry: "streams", name: "streams that are never read", attack: streamUnread, prepare: putMuch,
			pins: func(long bool) int { return 1 + unreadStreams(long)*partKiB>>10 },
		},
		{
			entry: "S10", name: "answers that are never read", attack: listUnread, prepare: putMuch,
			shows: `tenure_server_shared_refused_total{limit="answer_bytes_max"}`, pins: func(bool) int { return answersMiB },
		},
		{
			entry: "streams", name: "streams that are read slowly", attack: readSlowly, alike: readAtOnce, prepare: putMuch,
			pins: func(long bool) int {
				const listMiB = 3 // A fifth of the answers over REST are lists.
				return 1 + slowStreams(long)*5/4*partKiB>>10 + min(answersMiB, slowStreams(long)/4/5*listMiB)
			},
		},
	}
}

// unreadRenewals is how many streams of renewals are never read.
func unreadRenewals(long bool) int {
	if long {
		return 400
	}
	return 20
}

// renewUnread renews sessions of names of 1.4 MB, on streams whose answers are never read.
func renewUnread(ctx context.Context, a *attacker) error {
	id := strings.Repeat("i", 1_400_000)
	conn, err := a.dial(a.Members[0].GRPC)
	if err != nil {
		return err
	}
	short := &tenurev1.KeepAliveRequest{}
	for i := range 1024 {
		short.Renewals = append(short.Renewals, &tenurev1.SessionRenewal{SessionId: "no session", Number: uint64(i)})
	}
	for i := range unreadRenewals(a.Long) {
		stream, err := tenurev1.NewSessionServiceClient(conn).KeepAlive(ctx)
		if err != nil {
			a.answered("renewals", err)
			continue
		}
		_ = stream.Send(&tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{{SessionId: id, Number: 1}}}) // It may be refused.
		go func() {                                                                                                   // It ends with the process.
			for n := 0; n < a.count(8, 1000) && stream.Send(short) == nil; n++ {
			}
		}()
		if i%10 == 0 {
			_ = stream.Send(&tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{{SessionId: id[:64]}}}) // The same.
		}
	}
	return nil
}

// unreadStreams is how many streams are never read.
func unreadStreams(long bool) int {
	if long {
		return 20_000
	}
	return 400
}

// putMuch puts what is more than a stream that is not read can hold.
func putMuch(s *scene) {
	for i := range 16 {
		put := &tenurev1.PutRequest{Key: fmt.Sprint("much/", i), Content: &tenurev1.PutRequest_Value{Value: make([]byte, 100_000)}}
		err := s.quiet.again(s.t.Context(), "put", func(ctx context.Context) error {
			_, err := s.quiet.kv.Put(ctx, put)
			return err
		})
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

// streamKind is a call that the member answers with a stream.
type streamKind struct {
	method  string
	request func(i int) proto.Message
}

// streamKinds returns one of each kind. The locks and elections that they are about have the given name.
func (a *attacker) streamKinds(ctx context.Context, name string) ([]streamKind, error) {
	conn, err := a.dial(a.Members[0].GRPC)
	if err != nil {
		return nil, err
	}
	session, err := tenurev1.NewSessionServiceClient(conn).CreateSession(ctx, newSession())
	if err != nil {
		return nil, err
	}
	return []streamKind{
		{tenurev1.WatchService_Watch_FullMethodName, func(int) proto.Message {
			return &tenurev1.WatchRequest{Prefixes: []string{"much/"}, Initial: true}
		}},
		{tenurev1.LockService_AcquireLock_FullMethodName, func(i int) proto.Message {
			return &tenurev1.AcquireLockRequest{
				Key: name + "/lock", SessionId: session.GetSessionId(), Wait: durationpb.New(patience),
				Options: &tenurev1.CallOptions{Owner: fmt.Sprint(i)},
			}
		}},
		{tenurev1.ElectionService_Campaign_FullMethodName, func(i int) proto.Message {
			return &tenurev1.CampaignRequest{
				Key: name + "/election", SessionId: session.GetSessionId(), Options: &tenurev1.CallOptions{Owner: fmt.Sprint(i)},
			}
		}},
		{tenurev1.ElectionService_Observe_FullMethodName, func(int) proto.Message {
			return &tenurev1.ObserveRequest{Key: name + "/election"}
		}},
		{tenurev1.ClusterService_Backup_FullMethodName, func(int) proto.Message { return &tenurev1.BackupRequest{} }},
		{tenurev1.SessionService_KeepAlive_FullMethodName, func(i int) proto.Message {
			return &tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{{SessionId: noSession, Number: uint64(i)}}}
		}},
	}, nil
}

// begin begins a call that the member answers with a stream, the i-th of its kind.
func (w *wire) begin(stream uint32, kind streamKind, i int) error {
	data, err := proto.Marshal(kind.request(i))
	if err != nil {
		return err
	}
	if !w.spend(len(data)+5) || w.call(stream, kind.method) != nil || w.WriteData(stream, true, framed(len(data), data)) != nil {
		return fmt.Errorf("the member hung up at stream %d", i)
	}
	return nil
}

// streamUnread begins streams of each kind that reads on the member's side, and reads none of them.
func streamUnread(ctx context.Context, a *attacker) error {
	const perWire = 4000
	kinds, err := a.streamKinds(ctx, "unread")
	if err != nil {
		return err
	}
	var w *wire
	for i := range unreadStreams(a.Long) {
		if i%perWire == 0 {
			if w, err = a.wire(ctx, a.Members[0].GRPC); err != nil {
				return err
			}
			w.deaf()
		}
		if err = w.begin(uint32(2*(i%perWire)+1), kinds[i%len(kinds)], i); err != nil {
			return err
		}
	}
	return nil
}

// unreadLists is how many answers are never read.
func unreadLists(long bool) int {
	if long {
		return 4000
	}
	return 800
}

// listUnread lists what putMuch put, over and over, and reads no answer.
func listUnread(ctx context.Context, a *attacker) error {
	w, err := a.wire(ctx, a.Members[0].GRPC)
	if err != nil {
		return err
	}
	w.deaf()
	list := streamKind{tenurev1.KVService_List_FullMethodName, func(int) proto.Message {
		return &tenurev1.ListRequest{Prefix: "much/"}
	}}
	open := true // The member may hang up.
	for i := 0; i < unreadLists(a.Long) && open; i++ {
		open = w.begin(uint32(2*i+1), list, i) == nil
	}
	return nil
}
