package rest

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestStreamsOutliveTheWriteTimeout has a stream whose first line takes longer than the server allows for an answer, and so does its second.
func TestStreamsOutliveTheWriteTimeout(t *testing.T) {
	const allowed, silence = 200 * time.Millisecond, 600 * time.Millisecond
	rig := newRESTRig(t)
	rig.watch = func(_ *tenurev1.WatchRequest, stream tenurev1.WatchService_WatchServer) error {
		for range 2 {
			<-time.After(silence)
			if err := stream.Send(started()); err != nil {
				return err
			}
		}
		return nil
	}
	for _, version := range []int{1, 2} {
		server := httptest.NewUnstartedServer(rig.handler)
		server.EnableHTTP2 = version == 2
		server.Config.WriteTimeout = allowed
		server.StartTLS()
		t.Cleanup(server.Close)
		ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v1/watch?keys=a", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := server.Client().Do(ask)
		if err != nil {
			t.Errorf("HTTP/%d: %v", version, err)
			continue
		}
		lines := bufio.NewReader(resp.Body)
		for range 2 {
			if line := readLine(t, lines); !strings.Contains(line, `"started"`) || resp.ProtoMajor != version {
				t.Errorf("HTTP/%d: got %q over %s", version, line, resp.Proto)
			}
		}
		_ = resp.Body.Close()
	}
}
