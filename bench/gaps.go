package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// gap is for how long nobody was served, each time.
type gap struct {
	workload string
	times    []time.Duration
}

func (g gap) worst() time.Duration { return slices.Max(g.times) }

func (g gap) report() gapReport {
	r := gapReport{Workload: g.workload, WorstMs: millis(g.worst())}
	for _, d := range g.times {
		r.Ms = append(r.Ms, millis(d))
	}
	r.MedianMs = median(r.Ms)
	return r
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// failovers is how often the leader is killed.
const failovers = 5

// measureGaps measures how long writes stand still when a leader dies, and how long a full member takes to start.
func (b *bench) measureGaps(ctx context.Context) error {
	if b.has(workFailover) && b.options.members >= failoverMembers {
		if err := b.measureFailover(ctx); err != nil {
			return fmt.Errorf("%s: %w", workFailover, err)
		}
	}
	if b.has(workOutage) && b.options.members >= failoverMembers {
		if err := b.measureOutages(ctx); err != nil {
			return fmt.Errorf("%s: %w", workOutage, err)
		}
	}
	if b.has(workRestart) {
		if err := b.measureRestart(ctx); err != nil {
			return fmt.Errorf("%s: %w", workRestart, err)
		}
	}
	return nil
}

func (b *bench) measureFailover(ctx context.Context) (err error) {
	members, err := startCluster(ctx, b.dir, b.options)
	if err != nil {
		return err
	}
	defer func() {
		for _, m := range members {
			err = errors.Join(err, m.stop())
		}
	}()
	g := gap{workload: workFailover}
	for range failovers {
		leader, err := leaderOf(ctx, members)
		if err != nil {
			return err
		}
		others := slices.DeleteFunc(slices.Clone(members), func(m *server) bool { return m == leader })
		if err = leader.kill(); err != nil {
			return err
		}
		begin := time.Now()
		if err = others[0].awaitWrites(ctx); err != nil {
			return err
		}
		g.times = append(g.times, time.Since(begin))
		b.say("%s after %v\n", workFailover, time.Since(begin).Round(time.Millisecond))
		if err = leader.again(ctx); err != nil {
			return err
		}
		if err = leader.awaitWrites(ctx); err != nil {
			return err
		}
	}
	b.results.gaps = append(b.results.gaps, g)
	return nil
}

// measureRestart fills one member, kills it, and starts it again.
func (b *bench) measureRestart(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp(b.dir, "restart-")
	if err != nil {
		return err
	}
	o := b.options
	o.members, o.keys = 1, b.options.restart
	m, err := startMember(ctx, dir, debugOnRequest, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.stop()) }()
	b.say("%s: fills %d keys\n", workRestart, o.keys)
	if err = fillMany(ctx, m, o); err != nil {
		return err
	}
	g := gap{workload: workRestart}
	for range b.rounds {
		if err = m.kill(); err != nil {
			return err
		}
		begin := time.Now()
		if err = m.again(ctx); err != nil {
			return err
		}
		if err = m.awaitWrites(ctx); err != nil {
			return err
		}
		g.times = append(g.times, time.Since(begin))
		b.say("%s with %d keys took %v\n", workRestart, o.keys, time.Since(begin).Round(time.Millisecond))
	}
	b.results.gaps = append(b.results.gaps, g)
	return nil
}

// fillMany gives keys values, many in one transaction.
func fillMany(ctx context.Context, m *server, o options) error {
	conns, err := dialAll(m.addresses.GRPC, o.conns)
	if err != nil {
		return err
	}
	const each = 100
	value := randomValue(o.valueBytes)
	err = inParallel(ctx, (o.keys+each-1)/each, func(ctx context.Context, i int) error {
		txn := &tenurev1.TxnRequest{}
		for k := i * each; k < min(o.keys, (i+1)*each); k++ {
			txn.Then = append(txn.Then, &tenurev1.Op{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{
				Key: keyName(k), Content: &tenurev1.PutRequest_Value{Value: value},
			}}})
		}
		_, txnErr := tenurev1.NewKVServiceClient(conns.of(i)).Txn(ctx, txn)
		return txnErr
	})
	if err != nil {
		return fmt.Errorf("fill keys: %w", err)
	}
	return conns.close()
}
