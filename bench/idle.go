package main

import (
	"context"
	"errors"
	"fmt"
)

// measureIdle measures memory, on a member of its own.
func (b *bench) measureIdle(ctx context.Context) (err error) {
	if !b.hasAny(idleWorkloads) {
		return nil
	}
	member, err := startMember(ctx, b.dir, b.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, member.stop()) }()
	measures := map[string]func(context.Context, *server, options) (memoryResult, error){
		workSessions: measureSessions, workWatchers: measureWatchers,
	}
	for _, workload := range idleWorkloads {
		if !b.has(workload) {
			continue
		}
		result, measureErr := measures[workload](ctx, member, b.options)
		if measureErr != nil {
			return fmt.Errorf("%s: %w", workload, measureErr)
		}
		b.results.memory = append(b.results.memory, result)
		b.say("%-9s %d  %.0f bytes each\n", workload, result.Count, result.BytesEach)
		if b.profileDir != "" {
			if err = member.profileHeap(ctx, b.profileDir, workload); err != nil {
				return err
			}
		}
	}
	return nil
}
