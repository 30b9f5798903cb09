package main

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What enforced rules cost: clients put and send a token, and the mode changes again and again below them.
const (
	rulesOff     = workRules + "-off"
	rulesEnforce = workRules + "-enforce"
)

// measureRules measures both modes in turn with each number of clients.
func (b *bench) measureRules(ctx context.Context) (err error) {
	if !b.has(workRules) {
		return nil
	}
	s, err := startSafe(ctx, b.dir, b.options)
	defer func() {
		for _, m := range s.members {
			err = errors.Join(err, m.stop())
		}
	}()
	if err == nil {
		err = fillKeys(ctx, s.leader, b.options)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", workRules, err)
	}
	for round := range b.rounds {
		for _, clients := range b.clients {
			if err = b.measureRulesWith(ctx, s, round, clients); err != nil {
				return fmt.Errorf("%s with %d clients: %w", workRules, clients, err)
			}
		}
	}
	return nil
}

// measureRulesWith measures both modes in turn with one number of clients.
func (b *bench) measureRulesWith(ctx context.Context, s *secured, round, clients int) (err error) {
	leader := *s.leader
	leader.dial = s.dials[secureEnforce]
	c, err := newPutCell(&leader, clients, b.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	return b.measureTurns(ctx, turns{
		kinds:   []string{rulesOff, rulesEnforce},
		servers: func(string) []*server { return s.members },
		choose:  func(ctx context.Context, kind string) error { return s.enforced(ctx, kind == rulesEnforce) },
		step: func(ctx context.Context, client int, r *recorder) error {
			stepErr := c.step(ctx, client, r)
			if status.Code(stepErr) == codes.Unavailable {
				return nil // A call that began in mode off is not served in mode enforce. It may be made again, as libraries do.
			}
			return stepErr
		},
	}, round, clients)
}
