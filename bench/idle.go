package main

import (
	"context"
	"errors"
	"fmt"
)

// measureIdle measures memory, each time on a new member.
func (b *bench) measureIdle(ctx context.Context) error {
	measures := map[string]func(context.Context, *server, options) (memoryResult, error){
		workSessions: measureSessions, workWatchers: measureWatchers,
	}
	for _, workload := range idleWorkloads {
		if !b.has(workload) {
			continue
		}
		if err := b.measureIdleMember(ctx, workload, measures[workload]); err != nil {
			return fmt.Errorf("%s: %w", workload, err)
		}
	}
	return nil
}

func (b *bench) measureIdleMember(
	ctx context.Context, workload string, measure func(context.Context, *server, options) (memoryResult, error),
) (err error) {
	member, err := startMember(ctx, b.dir, debugAlways, b.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, member.stop()) }()
	result, err := measure(ctx, member, b.options)
	if err != nil {
		return err
	}
	b.results.memory = append(b.results.memory, result)
	b.say("%-9s %d  %.0f bytes each\n", workload, result.Count, result.BytesEach)
	if b.profileDir == "" {
		return nil
	}
	return member.profileHeap(ctx, b.profileDir, workload)
}
