package tenure_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
)

func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client, err := tenure.Open("tenure://localhost:7400/app")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	session, err := client.OpenSession(ctx)
	if err != nil {
		log.Fatal(err)
	}
	err = session.Lock("jobs/nightly").Do(ctx, func(ctx context.Context, held *tenure.Held) error {
		return work(ctx, held.Token()) // ctx ends when the lock may be lost.
	})
	fmt.Println(err)
}

func work(context.Context, uint64) error { return nil }

func ExampleLock_TryAcquire() {
	ctx := context.Background()
	session := exampleSession()
	held, info, err := session.Lock("printer").TryAcquire(ctx)
	switch {
	case err != nil:
		log.Fatal(err)
	case held == nil:
		fmt.Println("busy:", info.Holds[0].SessionName, "and", info.Waiters, "wait")
	default:
		defer func() { _ = held.Close() }()
		fmt.Println("mine until further notice, with token", held.Token())
	}
}

func ExampleHeld_Safe() {
	ctx := context.Background()
	session := exampleSession()
	held, err := session.Lock("ledger").Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	for held.Safe() {
		// The guard is checked where the write is made, so it is right also if this process is paused here.
		_, err := session.KV().Put(ctx, "ledger/last", []byte("42"), tenure.WithHeld(held))
		if errors.Is(err, tenure.ErrStaleToken) {
			return // Somebody else has the lock now, and nothing was written.
		}
	}
}

func ExampleElection_Run() {
	session := exampleSession()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := session.Election("service/leader").Run(ctx, []byte("10.0.0.1:8080"),
		func(ctx context.Context, l *tenure.Leadership) error {
			fmt.Println("leading with token", l.Token())
			<-ctx.Done() // Leads until leadership may be lost, or the minute is over.
			return nil
		})
	fmt.Println(err)
}

func ExampleClient_Watch() {
	ctx := context.Background()
	client := exampleClient()
	for event, err := range client.Watch(ctx, tenure.OnPrefix("config/"), tenure.WithInitial()) {
		if err != nil {
			log.Fatal(err)
		}
		switch event.Type {
		case tenure.EventInitial:
			fmt.Println(len(event.Initial), "keys")
		case tenure.EventPut:
			fmt.Println(event.Key, "is", string(event.KV.Value))
		case tenure.EventDeleted:
			fmt.Println(event.Key, "is gone")
		default:
		}
	}
}

func ExampleSession_OnState() {
	session := exampleSession()
	stop := session.OnState(func(change tenure.StateChange) { fmt.Println(change.State, change.Cause) })
	defer stop()
}

func ExampleSession_Export() {
	ctx := context.Background()
	client, session := exampleClient(), exampleSession()
	token, err := session.Export(ctx)
	if err != nil {
		log.Fatal(err)
	}
	// In the next process:
	session, err = client.ResumeSession(ctx, token)
	if err != nil {
		log.Fatal(err)
	}
	holds, err := session.Holds(ctx)
	fmt.Println(len(holds), err)
}

func ExampleKV_Txn() {
	ctx := context.Background()
	client := exampleClient()
	result, err := client.KV().Txn(ctx, tenure.Txn{
		If:   []tenure.Compare{tenure.ModRevisionIs("a", 0)},
		Then: []tenure.Op{tenure.OpPut("a", []byte("1")), tenure.OpPut("b", []byte("2"))},
		Else: []tenure.Op{tenure.OpGet("a")},
	})
	fmt.Println(result.Succeeded, err)
}

func exampleClient() *tenure.Client {
	client, err := tenure.Open("tenure://localhost:7400/app")
	if err != nil {
		log.Fatal(err)
	}
	return client
}

func exampleSession() *tenure.Session {
	session, err := exampleClient().OpenSession(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	return session
}
