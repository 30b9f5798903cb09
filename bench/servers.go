package main

import (
	"context"
	"errors"
	"os"
	"slices"
)

var memberWorkloads = []string{workPut, workGet, workLock, workHandover, workRenew, workWatch, workWear, workCrowd, workWide, workConsul}

var idleWorkloads = []string{workSessions, workWatchers}

// apartWorkloads are not measured in cells like the others: they have members, or numbers of clients, of their own.
var apartWorkloads = []string{
	workSessions, workWatchers, workHandover, workFailover, workOutage, workRestart, workWear, workCrowd, workWide, workFleet, workRules, workOnce,
}

func (b *bench) hasAny(workloads []string) bool { return slices.ContainsFunc(workloads, b.has) }

func (b *bench) startServers(ctx context.Context) (err error) {
	if b.has(workEcho) {
		if b.echo, err = b.startEcho(ctx); err != nil {
			return err
		}
	}
	if b.has(workSecure) {
		if b.secured, err = startSecured(ctx, b.dir, b.options); err != nil {
			return err
		}
	}
	if !b.hasAny(memberWorkloads) {
		return nil
	}
	if b.cluster, err = startCluster(ctx, b.dir, b.options); err != nil {
		return err
	}
	if b.member, err = leaderOf(ctx, b.cluster); err != nil {
		return err
	}
	if b.has(workPut) || b.has(workGet) {
		if err = fillKeys(ctx, b.member, b.options); err != nil {
			return err
		}
	}
	if b.has(workRenew) {
		conns, dialErr := dialAll(b.member.addresses.GRPC, b.conns)
		if dialErr != nil {
			return dialErr
		}
		if b.sessions, err = createSessions(ctx, conns, max(1, b.options.sessions/2)); err != nil {
			return err
		}
		return conns.close()
	}
	return nil
}

func (b *bench) startEcho(ctx context.Context) (*server, error) {
	dir, err := os.MkdirTemp(b.dir, "echo-")
	if err != nil {
		return nil, err
	}
	return startEcho(ctx, dir)
}

func (b *bench) stopServers() error {
	var errs []error
	running := append([]*server{b.echo}, b.cluster...)
	for _, s := range b.secured {
		running = append(running, s.members...)
	}
	for _, s := range running {
		if s != nil {
			errs = append(errs, s.stop())
		}
	}
	return errors.Join(errs...)
}
