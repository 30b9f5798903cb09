package hostile_test

import (
	"context"
	"fmt"
	"sync"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// behaveWell makes calls as clients do, several at a time, until the test has seen enough; in the short form so many.
func behaveWell(ctx context.Context, a *attacker) error {
	conn, err := a.dial(a.Members[0].GRPC)
	if err != nil {
		return err
	}
	kv := tenurev1.NewKVServiceClient(conn)
	call := func(client, n int) {
		key := fmt.Sprintf("well-behaved/%d/%d", client, n%100)
		_, err := kv.Put(ctx, &tenurev1.PutRequest{Key: key, Content: &tenurev1.PutRequest_Value{Value: make([]byte, 100)}})
		a.answered("put", err)
		_, err = kv.Get(ctx, &tenurev1.GetRequest{Key: key})
		a.answered("get", err)
	}
	a.inBackground(16, a.count(50, 1<<30), call)
	return nil
}

// inBackground has so many clients make calls, each so often or until the test has seen enough. In the short form it returns
// when all are done; in the long one the attack stands meanwhile.
func (a *attacker) inBackground(clients, calls int, call func(client, n int)) {
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for n := 0; n < calls && !a.over(); n++ {
				call(client, n)
			}
		})
	}
	if !a.Long {
		all.Wait()
	}
}
