package antientropy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

const (
	// rowsMax is how much one call writes and deletes, and bytesMax how large that is, unless one entry alone is larger. Members refuse a
	// change of more than 1 MiB with a reason, and gRPC refuses more than 4 MiB without one.
	rowsMax, bytesMax = 128, 512 << 10
	// callTimeout is how long one call may take, and firstTimeout the first one: whoever starts an agent with wrong endpoints soon sees why it fails.
	callTimeout, firstTimeout = 10 * time.Second, 2 * time.Second
	// outdatedMax is how often in a row a number may be too low.
	outdatedMax = 3
	// pagesMax bounds how many pages a node has.
	pagesMax = 1_000
)

var (
	errOutdated = errors.New("another agent with this node's id seems to run: every number is taken")
	errPages    = errors.New("a node has too many pages")
)

// read returns the node's part of the catalog.
func (s *Syncer) read(ctx context.Context, want *tenurev1.Node) (rows, error) {
	found := newRows()
	s.other = ""
	request := &tenurev1.GetNodeRequest{Node: want.GetName()}
	for range pagesMax {
		page, err := s.readPage(ctx, request)
		if errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND {
			return newRows(), nil
		}
		if err != nil {
			return rows{}, fmt.Errorf("read the catalog: %w", err)
		}
		if page.GetNode().GetNodeId() != want.GetNodeId() {
			// What another machine with this name has is not compared with, and nothing of it is deleted.
			s.other = page.GetNode().GetNodeId()
			return newRows(), nil
		}
		found.node = page.GetNode()
		for _, service := range page.GetServices() {
			found.services[service.GetServiceId()] = service
		}
		for _, check := range page.GetChecks() {
			found.checks[check.GetCheckId()] = check
		}
		if request.PageToken = page.GetNextPageToken(); request.GetPageToken() == "" {
			s.raise(found.node.GetLastSync())
			return found, nil
		}
	}
	return rows{}, errPages
}

func (s *Syncer) readPage(ctx context.Context, request *tenurev1.GetNodeRequest) (*tenurev1.GetNodeResponse, error) {
	timeout := callTimeout
	if !s.called {
		s.called, timeout = true, firstTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return s.options.Client.GetNode(ctx, request)
}

// raise goes on above a number that the cluster has seen.
func (s *Syncer) raise(last *tenurev1.SyncNumber) {
	switch {
	case last.GetBoot() > s.number.boot:
		s.number = number{boot: last.GetBoot(), call: last.GetNumber()}
	case last.GetBoot() == s.number.boot:
		s.number.call = max(s.number.call, last.GetNumber())
	}
}

// push makes one batch. Where the cluster refuses a part of it, the rest is made.
func (s *Syncer) push(ctx context.Context, b *batch) error {
	s.refuseOrphans(b)
	if b.size() == 0 {
		return nil
	}
	if b.size() > 1 && b.bytes() > bytesMax {
		return s.pushHalves(ctx, b)
	}
	err := s.send(ctx, b)
	if err == nil {
		s.tookPlace(b)
		s.catalog.apply(b)
		s.made = append(s.made, b)
		b.each(s.accept)
		return nil
	}
	if outOfRoom(err) {
		if taken := s.takenWhenFull(b); taken.size() > 0 && taken.size() < b.size() {
			err = errors.Join(err, s.push(ctx, taken))
		}
		return fmt.Errorf("write the catalog: %w", err)
	}
	if !refused(err) || b.node != nil && b.size() == 1 {
		return fmt.Errorf("write the catalog: %w", err)
	}
	if b.size() == 1 {
		b.each(func(key string, entry proto.Message) { s.refuse(key, refusal{entry: entry, err: err}) })
		return nil
	}
	return s.pushHalves(ctx, b)
}

// tookPlace says that the node was written over another machine's, if it was. A refusal is how the round ends.
func (s *Syncer) tookPlace(b *batch) {
	if b.node != nil && s.other != "" {
		s.options.Log.Warn("another machine was registered under the name of this node; this one has taken its place",
			zap.String("node", b.node.GetName()), zap.String("node_id", s.other))
		s.other = ""
	}
}

// takenWhenFull returns what a cluster takes of a batch that has no room for it: the status of checks that are there, and what is deleted. A
// check that is to move away from a service that is deleted would go with it, so that nothing is deleted while other checks wait.
func (s *Syncer) takenWhenFull(b *batch) *batch {
	taken := &batch{}
	for _, m := range b.checks {
		if is := s.catalog.checks[m.GetCheckId()]; is != nil {
			is = proto.CloneOf(is)
			is.Status = m.GetStatus()
			if sameCheck(is, m) {
				taken.checks = append(taken.checks, m)
			}
		}
	}
	if len(taken.checks) == len(b.checks) {
		taken.deleteServices, taken.deleteChecks = b.deleteServices, b.deleteChecks
	}
	return taken
}

// pushHalves makes a batch in two.
func (s *Syncer) pushHalves(ctx context.Context, b *batch) error {
	first := b.take(b.size() / 2)
	if err := s.push(ctx, first); err != nil {
		return err
	}
	return s.push(ctx, b)
}

// orphan reports whether an entry is a check whose service was refused and is not in the catalog: it cannot be there either.
func (s *Syncer) orphan(entry proto.Message) bool {
	check, is := entry.(*tenurev1.Check)
	return is && s.refused.has(ServiceKey(check.GetServiceId())) && s.catalog.services[check.GetServiceId()] == nil
}

// refuseOrphans takes orphans out of a batch. Where the batch has the service, too, the cluster decides.
func (s *Syncer) refuseOrphans(b *batch) {
	b.checks = slices.DeleteFunc(b.checks, func(m *tenurev1.Check) bool {
		if !s.orphan(m) || slices.ContainsFunc(b.services, func(with *tenurev1.Service) bool { return with.GetServiceId() == m.GetServiceId() }) {
			return false
		}
		of := s.refused[ServiceKey(m.GetServiceId())]
		s.refuse(CheckKey(m.GetCheckId()), refusal{entry: m, err: fmt.Errorf("its service was refused: %w", of.err)})
		return true
	})
}

// refuse remembers an entry that the cluster refused. The same refusal again is not logged.
func (s *Syncer) refuse(key string, of refusal) {
	last, is := s.refused[key]
	s.refused[key] = of
	if !is || last.err.Error() != of.err.Error() {
		s.options.Log.Warn("the cluster refused an entry", zap.String("entry", title(key)), zap.Error(of.err))
	}
}

// accept forgets that the cluster refused an entry. Checks may have been refused because of their service: with it, they are tried again.
func (s *Syncer) accept(key string, entry proto.Message) {
	if service, is := entry.(*tenurev1.Service); is {
		s.refused.free(service.GetServiceId())
	}
	if s.refused.has(key) {
		delete(s.refused, key)
		s.options.Log.Info("the cluster accepted an entry that it had refused", zap.String("entry", title(key)))
	}
}

// send makes one call, with another number if that is too low.
func (s *Syncer) send(ctx context.Context, b *batch) error {
	for range outdatedMax {
		s.number.call++
		used := s.number
		request := &tenurev1.SyncNodeRequest{
			NodeId: s.nodeID, Sync: &tenurev1.SyncNumber{Boot: used.boot, Number: used.call}, Node: b.node,
			Services: b.services, Checks: b.checks, DeleteServices: b.deleteServices, DeleteChecks: b.deleteChecks,
		}
		err := s.sendOnce(ctx, request)
		if errorinfo.Reason(err) != tenurev1.ErrorReason_ERROR_REASON_SYNC_OUTDATED {
			return err
		}
		last := lastOf(err)
		s.options.Log.Warn("a later sync of this node was applied",
			zap.Uint64("boot", used.boot), zap.Uint64("number", used.call),
			zap.Uint64("last_boot", last.GetBoot()), zap.Uint64("last_number", last.GetNumber()))
		s.raise(last)
		if err := s.options.Continue(s.number.boot); err != nil {
			return err
		}
	}
	return errOutdated
}

func (s *Syncer) sendOnce(ctx context.Context, request *tenurev1.SyncNodeRequest) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := s.options.Client.SyncNode(ctx, request)
	return err
}

// lastOf returns the number that SYNC_OUTDATED names.
func lastOf(err error) *tenurev1.SyncNumber {
	metadata := errorinfo.Of(err).GetMetadata()
	number := func(name string) uint64 {
		n, _ := strconv.ParseUint(metadata[name], 10, 64) // Without it, the next number is tried.
		return n
	}
	return &tenurev1.SyncNumber{Boot: number("boot"), Number: number("number")}
}
