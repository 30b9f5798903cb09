package consulhttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/consulhttp"
)

// counted is a connection that counts the calls of CatalogService.
type counted struct {
	grpc.ClientConnInterface

	mu    sync.Mutex
	calls map[string]int
}

func (c *counted) Invoke(ctx context.Context, method string, request, response any, options ...grpc.CallOption) error {
	if name, is := strings.CutPrefix(method, "/tenure.v1.CatalogService/"); is {
		c.mu.Lock()
		c.calls[name]++
		c.mu.Unlock()
	}
	return c.ClientConnInterface.Invoke(ctx, method, request, response, options...)
}

// taken returns the calls since the last time.
func (c *counted) taken() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls
	c.calls = map[string]int{}
	return calls
}

// TestReadsOfAllNodesMakeFewCalls has more nodes than are read one by one.
func TestReadsOfAllNodesMakeFewCalls(t *testing.T) {
	const nodes, callsMax = 50, 20
	conn := &counted{calls: map[string]int{}}
	r := newRig(t, func(o *consulhttp.Options) { conn.ClientConnInterface, o.Conn = o.Conn, conn })
	var all, blue []string
	for i := range nodes {
		color := []string{"blue", "green"}[i%2]
		body := fmt.Sprintf(`{"Node":"n%d","Address":"10.0.0.1","NodeMeta":{"color":"%s"},"Service":{"Service":"web","Tags":["t%d"]},`+
			`"Check":{"CheckID":"up","ServiceID":"web","Status":"passing"}}`, i, color, i)
		r.want("PUT", "/v1/catalog/register", body, http.StatusOK, "true")
		all = append(all, fmt.Sprintf("n%d [t%d]", i, i))
		if color == "blue" {
			blue = append(blue, fmt.Sprintf("n%d [t%d]", i, i))
		}
	}
	r.want("PUT", "/v1/catalog/register", `{"Node":"n0","SkipNodeUpdate":true,"Service":{"Service":"bare"}}`, http.StatusOK, "true")
	slices.Sort(all)
	slices.Sort(blue)
	conn.taken()
	few := func(path string) {
		t.Helper()
		sum, calls := 0, conn.taken()
		for _, n := range calls {
			sum += n
		}
		if sum > callsMax {
			t.Errorf("%s: %d calls of the catalog, want at most %d: %v", path, sum, callsMax, calls)
		}
	}
	for path, want := range map[string][]string{
		"/v1/health/state/any": all, "/v1/health/state/passing?node-meta=color:blue": blue, "/v1/health/state/any?node-meta=color:red": nil,
	} {
		var checks []struct {
			Node        string
			ServiceTags []string
		}
		if err := json.Unmarshal([]byte(r.send("GET", path, "").body), &checks); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, k := range checks {
			got = append(got, fmt.Sprint(k.Node, " ", k.ServiceTags))
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
		few(path)
	}
	var services map[string][]string
	const path = "/v1/catalog/services?node-meta=color:blue"
	if err := json.Unmarshal([]byte(r.send("GET", path, "").body), &services); err != nil {
		t.Fatal(err)
	}
	if got := services["web"]; len(services) != 2 || services["bare"] == nil || len(got) != nodes/2 || !slices.Contains(got, "t2") || slices.Contains(got, "t1") {
		t.Errorf("%s: got %v, want the tags of the blue nodes", path, services)
	}
	few(path)
}
