package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// renewalsPerMessage is the most that a KeepAlive message may carry.
const renewalsPerMessage = 1024

// renewer keeps its share of the sessions alive over one stream.
type renewer struct {
	stream   grpc.ClientStream
	cancel   context.CancelFunc
	sessions []string
	next     int // index of the session that is renewed next
	number   uint64
	request  tenurev1.KeepAliveRequest
}

// newRenewCell renews sessions over KeepAlive streams, one for each client: a full message, then its verdicts, then the
// next. A renewal is an operation; the latency is that of a message.
func newRenewCell(ctx context.Context, member *server, clients int, o options, sessions []string) (*cell, error) {
	conns, err := dialAll(member.addresses.GRPC, min(clients, o.conns),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(verdictCodec{})))
	if err != nil {
		return nil, err
	}
	renewers := make([]*renewer, clients)
	share := max(1, len(sessions)/clients)
	for client := range clients {
		begin := client * share % len(sessions)
		streamCtx, cancel := context.WithCancel(ctx)
		stream, openErr := conns.of(client).NewStream(streamCtx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true},
			tenurev1.SessionService_KeepAlive_FullMethodName)
		if openErr != nil {
			cancel()
			return nil, errors.Join(openErr, conns.close())
		}
		renewers[client] = &renewer{
			stream: stream, cancel: cancel, sessions: sessions[begin:min(begin+share, len(sessions))],
		}
	}
	return &cell{
		drivers: clients,
		step: func(_ context.Context, client int, r *recorder) error {
			begin := time.Now()
			renewed, stepErr := renewers[client].step()
			if stepErr == nil {
				r.add(renewed, time.Since(begin))
			}
			return stepErr
		},
		close: func() error {
			for _, w := range renewers {
				w.cancel()
			}
			return conns.close()
		},
	}, nil
}

// step sends one message and takes answers until each of its renewals has one.
func (w *renewer) step() (int, error) {
	n := min(len(w.sessions), renewalsPerMessage)
	w.request.Renewals = w.request.GetRenewals()[:0]
	first := w.number + 1
	for range n {
		w.number++
		w.request.Renewals = append(w.request.Renewals, &tenurev1.SessionRenewal{
			SessionId: w.sessions[w.next], Number: w.number,
		})
		w.next = (w.next + 1) % len(w.sessions)
	}
	if err := w.stream.SendMsg(&w.request); err != nil {
		return 0, err
	}
	for answered := 0; answered < n; {
		got := verdicts{first: first, last: w.number}
		if err := w.stream.RecvMsg(&got); err != nil {
			return 0, err
		}
		answered += got.renewed
	}
	return n, nil
}

// verdicts is what a client of KeepAlive must know of an answer. It reads the wire itself: the load generator shares the
// machine with the member and should not cost more than the member does.
type verdicts struct {
	first, last uint64 // numbers that may be answered
	renewed     int    // renewals that were granted
}

// Field numbers of KeepAliveResponse and RenewalVerdict.
const (
	fieldVerdicts = 2
	fieldNumber   = 2
	fieldRefused  = 4
)

// unmarshal counts the granted renewals and refuses an answer that refuses one, or that answers another message.
func (v *verdicts) unmarshal(message []byte) error {
	return scanFields(message, func(field int, bytes []byte, _ uint64) error {
		if field != fieldVerdicts {
			return nil
		}
		var number, refused uint64
		err := scanFields(bytes, func(field int, _ []byte, value uint64) error {
			switch field {
			case fieldNumber:
				number = value
			case fieldRefused:
				refused = value
			}
			return nil
		})
		switch {
		case err != nil:
			return err
		case refused != 0:
			return fmt.Errorf("renewal refused: %v", tenurev1.ErrorReason(refused))
		case number < v.first || number > v.last:
			return fmt.Errorf("answer to renewal %d, want %d to %d", number, v.first, v.last)
		}
		v.renewed++
		return nil
	})
}

// scanFields calls visit with every field of an encoded message: its bytes if it has a length, else its value.
func scanFields(message []byte, visit func(field int, bytes []byte, value uint64) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var bytes []byte
		var value uint64
		switch kind {
		case protowire.BytesType:
			bytes, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(message)
		default:
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if err := visit(int(field), bytes, value); err != nil {
			return err
		}
	}
	return nil
}

// marshalMessage encodes what the renewers send.
func marshalMessage(v any) ([]byte, error) {
	message, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a message", v)
	}
	return proto.Marshal(message)
}
