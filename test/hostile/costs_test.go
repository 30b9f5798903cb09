package hostile_test

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// putMany puts what a list of the attack has.
func putMany(s *scene) {
	for first := 0; first < 1024; first += 128 {
		txn := &tenurev1.TxnRequest{}
		for i := range 128 {
			put := &tenurev1.PutRequest{
				Key: fmt.Sprintf("hostile/many/%04d", first+i), Content: &tenurev1.PutRequest_Value{Value: make([]byte, 100)},
			}
			txn.Then = append(txn.Then, &tenurev1.Op{Kind: &tenurev1.Op_Put{Put: put}})
		}
		err := s.quiet.again(s.t.Context(), "transaction", func(ctx context.Context) error {
			_, err := s.quiet.kv.Txn(ctx, txn)
			return err
		})
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

// listOften makes transactions of as many lists as there may be, with a put and without.
func listOften(ctx context.Context, a *attacker) error {
	conn, err := a.dial(a.Members[0].GRPC)
	if err != nil {
		return err
	}
	kv := tenurev1.NewKVServiceClient(conn)
	lists := func(n int) []*tenurev1.Op {
		var ops []*tenurev1.Op
		for range n {
			ops = append(ops, &tenurev1.Op{Kind: &tenurev1.Op_List{List: &tenurev1.ListRequest{Prefix: "hostile/many/"}}})
		}
		return ops
	}
	write := &tenurev1.Op{Kind: &tenurev1.Op_Delete{Delete: &tenurev1.DeleteRequest{Key: "hostile/one"}}}
	a.inBackground(4, a.count(10, 1<<30), func(_, n int) {
		request := &tenurev1.TxnRequest{Then: lists(128)}
		if n%2 == 0 {
			request.Then = append(lists(127), write)
		}
		_, err := kv.Txn(ctx, request)
		a.answered("transaction", err)
	})
	return nil
}

// queueValues queues for a lock with values of 500 kB, and reads session and lock over and over.
func queueValues(ctx context.Context, a *attacker) error {
	conn, err := a.dial(a.Members[0].GRPC)
	if err != nil {
		return err
	}
	sessions, locks := tenurev1.NewSessionServiceClient(conn), tenurev1.NewLockServiceClient(conn)
	var ids []string
	for range 2 {
		opened, createErr := sessions.CreateSession(ctx, newSession())
		if createErr != nil {
			return createErr
		}
		ids = append(ids, opened.GetSessionId())
	}
	if _, err = locks.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: "hostile/queue", SessionId: ids[0]}); err != nil {
		return err
	}
	places := a.count(60, 400)
	for i := range places {
		stream, err := locks.AcquireLock(ctx, &tenurev1.AcquireLockRequest{
			Key: "hostile/queue", SessionId: ids[1], Value: make([]byte, 500_000), Wait: durationpb.New(patience),
			Options: &tenurev1.CallOptions{Owner: fmt.Sprint(i)},
		})
		if err == nil {
			_, err = stream.Recv()
		}
		a.answered("queue", err)
	}
	a.inBackground(4, a.count(5, 1<<30), func(int, int) {
		_, err := sessions.GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: ids[1]})
		a.answered("get session", err)
		_, err = locks.GetLock(ctx, &tenurev1.GetLockRequest{Key: "hostile/queue"})
		a.answered("get lock", err)
	})
	return nil
}
