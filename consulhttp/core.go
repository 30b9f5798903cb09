package consulhttp

import (
	"sync/atomic"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// core is what all endpoints need: the services that they call, and the means to wait for a change.
type core struct {
	options  Options
	sessions tenurev1.SessionServiceClient
	kv       tenurev1.KVServiceClient
	watches  tenurev1.WatchServiceClient
	cluster  tenurev1.ClusterServiceClient
	metrics  *metrics
	blocked  atomic.Int64 // requests that wait for a change
}

// newCore returns a core. The options are valid and complete.
func newCore(o Options) (*core, error) {
	c := &core{
		options:  o,
		sessions: tenurev1.NewSessionServiceClient(o.Conn),
		kv:       tenurev1.NewKVServiceClient(o.Conn),
		watches:  tenurev1.NewWatchServiceClient(o.Conn),
		cluster:  tenurev1.NewClusterServiceClient(o.Conn),
	}
	var err error
	c.metrics, err = newMetrics(o.Registerer, func() float64 { return float64(c.blocked.Load()) })
	return c, err
}
