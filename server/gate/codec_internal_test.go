package gate

import (
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestLargeMessagesTakeTurnsToBeDecoded has as many large messages decoded as may be at a time, and then one more, and a small one.
func TestLargeMessagesTakeTurnsToBeDecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ok := NewCodec(1 << 20).(codec)
		if !ok {
			t.Fatal("the codec is another one")
		}
		// In this bubble, so that waiting for it counts as waiting.
		c.large = make(chan struct{}, cap(c.large))
		for range cap(c.large) {
			c.large <- struct{}{}
		}
		decoded := map[int]bool{}
		for _, size := range []int{largeBytes, 10} {
			data, err := proto.Marshal(&tenurev1.PutRequest{Content: &tenurev1.PutRequest_Value{Value: make([]byte, size)}})
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				m := &tenurev1.PutRequest{}
				if err := c.Unmarshal(mem.BufferSlice{mem.SliceBuffer(data)}, m); err != nil || len(m.GetValue()) != size {
					t.Errorf("%d bytes: got %d, %v", size, len(m.GetValue()), err)
				}
				decoded[size] = true
			}()
			synctest.Wait()
		}
		if decoded[largeBytes] || !decoded[10] {
			t.Errorf("decoded while others are: %v, want the small one alone", decoded)
		}
		<-c.large
		synctest.Wait()
		if !decoded[largeBytes] || len(c.large) != cap(c.large)-1 {
			t.Errorf("%v are decoded, and %d turns are taken; want both, and that the turn was given back", decoded, len(c.large))
		}
	})
}
