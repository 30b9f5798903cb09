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

// TestStreamsOutliveTheWriteTimeout has a stream whose first line takes longer than the server allows for an answer, and so does its second, and a
// backup whose first part does.
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
	rig.backup = func(stream tenurev1.ClusterService_BackupServer) error {
		<-time.After(silence)
		return stream.Send(&tenurev1.BackupResponse{Data: []byte("all\n")})
	}
	for _, version := range []int{1, 2} {
		server := httptest.NewUnstartedServer(rig.handler)
		server.EnableHTTP2 = version == 2
		server.Config.WriteTimeout = allowed
		server.StartTLS()
		t.Cleanup(server.Close)
		for path, want := range map[string][]string{"/v1/watch?keys=a": {`"started"`, `"started"`}, "/v1/admin/backup": {"all"}} {
			ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := server.Client().Do(ask)
			if err != nil {
				t.Errorf("HTTP/%d: %s: %v", version, path, err)
				continue
			}
			lines := bufio.NewReader(resp.Body)
			for _, text := range want {
				if line := readLine(t, lines); !strings.Contains(line, text) || resp.ProtoMajor != version {
					t.Errorf("HTTP/%d: %s: got %q over %s, want %s", version, path, line, resp.Proto, text)
				}
			}
			_ = resp.Body.Close()
		}
	}
}
