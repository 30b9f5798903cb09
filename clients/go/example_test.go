package tenure_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"

	tenure "github.com/tenure-io/tenure/clients/go"
)

func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client, err := tenure.Open("tenure://" + cmp.Or(os.Getenv("TENURE_ENDPOINTS"), "localhost:7400") + "/app")
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
	session, end := exampleSession()
	defer end()
	for range 2 {
		held, info, err := session.Lock("printer").TryAcquire(ctx)
		switch {
		case err != nil:
			log.Fatal(err)
		case held != nil:
			defer func() { _ = held.Close() }()
			fmt.Println("mine until further notice")
		default:
			fmt.Println("busy:", info.Holders, "have it,", info.Delayed, "lost it a moment ago,", info.Waiters, "wait")
			for _, hold := range info.Holds {
				fmt.Println("one is", hold.SessionName)
			}
		}
	}
}

func ExampleHeld_Safe() {
	ctx := context.Background()
	session, end := exampleSession()
	defer end()
	held, err := session.Lock("ledger").Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	for _, entry := range []string{"41", "42"} {
		if !held.Safe() {
			return
		}
		// The guard is checked where the write is made, so it is right also if this process is paused here.
		_, err := session.KV().Put(ctx, "ledger/last", []byte(entry), tenure.WithHeld(held))
		if errors.Is(err, tenure.ErrStaleToken) {
			return // Somebody else has the lock now, and nothing was written.
		}
		fmt.Println(entry, err)
	}
}

func ExampleElection_Run() {
	session, end := exampleSession()
	defer end()
	ctx, stop := context.WithCancel(context.Background())
	err := session.Election("service/leader").Run(ctx, []byte("10.0.0.1:8080"),
		func(ctx context.Context, l *tenure.Leadership) error {
			fmt.Println("leading:", l.Safe())
			stop() // As if the program were told to end.
			<-ctx.Done()
			return nil
		})
	fmt.Println(errors.Is(err, context.Canceled))
}

func ExampleClient_Watch() {
	ctx := context.Background()
	client := exampleClient()
	defer func() { _ = client.Close() }()
	for event, err := range client.Watch(ctx, tenure.OnPrefix("config/"), tenure.WithInitial()) {
		if err != nil {
			log.Fatal(err)
		}
		switch event.Type {
		case tenure.EventInitial:
			fmt.Println(len(event.Initial), "keys")
			_, err = client.KV().Put(ctx, "config/level", []byte("debug"))
		case tenure.EventPut:
			fmt.Println(event.Key, "is", string(event.KV.Value))
			_, err = client.KV().Delete(ctx, event.Key)
		case tenure.EventDeleted:
			fmt.Println(event.Key, "is gone")
			return
		default:
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}

func ExampleSession_OnState() {
	session, end := exampleSession()
	session.OnState(func(change tenure.StateChange) { fmt.Println(change.State, change.Cause) })
	end()
}

func ExampleSession_Export() {
	ctx := context.Background()
	session, end := exampleSession()
	defer end()
	if _, err := session.Lock("migration").Acquire(ctx); err != nil {
		log.Fatal(err)
	}
	token, err := session.Export(ctx)
	if err != nil {
		log.Fatal(err)
	}
	// In the next process:
	client := exampleClient()
	defer func() { _ = client.Close() }()
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
	defer func() { _ = client.Close() }()
	result, err := client.KV().Txn(ctx, tenure.Txn{
		If:   []tenure.Compare{tenure.ModRevisionIs("a", 0)},
		Then: []tenure.Op{tenure.OpPut("a", []byte("1")), tenure.OpPut("b", []byte("2"))},
		Else: []tenure.Op{tenure.OpGet("a")},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Succeeded, len(result.Results))
}

func ExampleClient_OpenServiceList() {
	ctx := context.Background()
	client := exampleClient()
	defer func() { _ = client.Close() }()
	services, err := client.OpenServiceList(ctx, "web")
	if err != nil {
		log.Fatal(err)
	}
	registered, err := client.Register(ctx, tenure.Service{Name: "web", Node: "web1", Address: "10.0.0.1", Port: 8080})
	if err != nil {
		log.Fatal(err)
	}
	for all, err := range services.Changes(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		if len(all["web"]) > 0 {
			break
		}
	}
	for _, instance := range services.Instances("web") { // No call is made.
		fmt.Printf("%s:%d on %s\n", instance.Address, instance.Port, instance.Node)
	}
	fmt.Println(registered.Close())
}

func ExampleWithChecks() {
	ctx := context.Background()
	client := exampleClient()
	defer func() { _ = client.Close() }()
	registered, err := client.Register(ctx, tenure.Service{Name: "worker", Node: "web1"})
	if err != nil {
		log.Fatal(err)
	}
	session, err := client.OpenSession(ctx, tenure.WithNode(registered.Node()), tenure.WithChecks(registered.CheckID()))
	if err != nil {
		log.Fatal(err)
	}
	if err = registered.Set(ctx, tenure.CheckCritical, "out of memory"); err != nil {
		log.Fatal(err)
	}
	info, err := client.LookUpSession(ctx, session.ID())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(info.Live, info.EndCause)
}

// exampleClient returns a client of the cluster that the command line uses, too.
func exampleClient() *tenure.Client {
	client, err := tenure.Open("tenure://" + cmp.Or(os.Getenv("TENURE_ENDPOINTS"), "localhost:7400") + "/app")
	if err != nil {
		log.Fatal(err)
	}
	return client
}

// exampleSession returns a session, and what closes it and its client.
func exampleSession() (session *tenure.Session, end func()) {
	client := exampleClient()
	session, err := client.OpenSession(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	return session, func() { _ = client.Close() }
}
