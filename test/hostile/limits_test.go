package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"math"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

const (
	// writeMiB is what a member takes under heavy writes; see docs/operations.md. The log's write buffers have 8 x 16 MiB, those of the
	// state 8 x 8, its cache 64, the log's newest entries 16, commands that are not yet committed 64, and recent events 64.
	writeMiB = 400
	// smallStore is a limit of the store that history fills soon.
	smallStore = 64 << 20
)

// writes is what an attack pins that only writes much in its long form.
func writes(long bool) int {
	if long {
		return writeMiB
	}
	return 0
}

// limitStore makes the store so small that history fills it.
func limitStore(s *scene) {
	s.setLimits(&tenurev1.Limits{StoreBytesMax: proto.Uint64(smallStore)})
}

// overwrite puts one large value over and over, more than the store may hold.
func overwrite(ctx context.Context, a *attacker) error {
	conn, err := a.dial(a.Members[0].GRPC)
	if err != nil {
		return err
	}
	kv, cluster := tenurev1.NewKVServiceClient(conn), tenurev1.NewClusterServiceClient(conn)
	put := &tenurev1.PutRequest{Key: "hostile/large", Content: &tenurev1.PutRequest_Value{Value: make([]byte, 100<<10)}}
	a.inBackground(1, a.count(800, 1<<30), func(int, int) {
		_, err := kv.Put(ctx, put)
		a.answered("put", err)
		if a.Long {
			return
		}
		// On a machine that stands still for a while, compaction may come late: that proves nothing.
		_ = a.until(ctx, func() (bool, error) {
			got, err := cluster.GetStatus(ctx, &tenurev1.GetStatusRequest{})
			return err == nil && got.GetStoreBytes() < smallStore/4*3 || a.over(), err
		})
	})
	return nil
}

// limitAll sets every limit to nothing, to one and to as much as there is, with force and without. It sets back what the member takes,
// which must be neither a store of one byte nor a limit without end.
func limitAll(ctx context.Context, a *attacker) error {
	conn, err := a.dial(a.Members[0].GRPC)
	if err != nil {
		return err
	}
	cluster := tenurev1.NewClusterServiceClient(conn)
	set := func(limits *tenurev1.Limits, force bool) error {
		var refused error
		never := a.until(ctx, func() (bool, error) {
			_, refused = cluster.SetLimits(ctx, &tenurev1.SetLimitsRequest{Limits: limits, Force: force})
			a.answered("set limits", refused)
			return status.Code(refused) != codes.Unavailable, refused
		})
		return errors.Join(never, refused)
	}
	now, err := cluster.GetLimits(ctx, &tenurev1.GetLimitsRequest{})
	if err != nil {
		return err
	}
	before := now.GetLimits().ProtoReflect()
	fields := before.Descriptor().Fields()
	if fields.Len() < 10 || proto.Size(now.GetLimits()) == 0 {
		return fmt.Errorf("there are %d limits only", fields.Len())
	}
	for i := range 2 * 3 * fields.Len() {
		f, n, force := fields.Get(i/6), []uint64{0, 1, math.MaxUint64}[i%3], i%6 > 2
		odd, back := &tenurev1.Limits{}, &tenurev1.Limits{}
		odd.ProtoReflect().Set(f, limitValue(f, n))
		back.ProtoReflect().Set(f, before.Get(f))
		err = set(odd, force)
		if err == nil && (n == math.MaxUint64 || n == 1 && f.Name() == "store_bytes_max") {
			return fmt.Errorf("%s of %d was taken", f.Name(), n)
		}
		if err = set(back, false); err != nil {
			return fmt.Errorf("set %s back: %w", f.Name(), err)
		}
	}
	return nil
}

// limitValue returns a number as the value of a limit.
func limitValue(f protoreflect.FieldDescriptor, n uint64) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(min(n, math.MaxUint32)))
	case protoreflect.MessageKind:
		const durationMax = 315_576_000_000
		return protoreflect.ValueOfMessage((&durationpb.Duration{Seconds: int64(min(n, durationMax))}).ProtoReflect())
	default:
		return protoreflect.ValueOfUint64(n)
	}
}
