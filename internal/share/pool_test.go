package share_test

import (
	"fmt"
	"net"
	"testing"

	"github.com/tenure-io/tenure/internal/share"
)

// callers returns one caller for each address.
func callers(t *testing.T, exempt []string, addresses ...string) []share.Caller {
	t.Helper()
	c, err := share.ParseExempt(exempt)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]share.Caller, 0, len(addresses))
	for _, address := range addresses {
		all = append(all, c.OfText(net.JoinHostPort(address, "1")))
	}
	return all
}

// fill takes one by one for callers in turn, until the pool refuses all, and returns how much each has.
func fill(p *share.Pool, all []share.Caller) []int {
	got := make([]int, len(all))
	for more := true; more; {
		more = false
		for i, c := range all {
			if p.Take(c, 1) {
				got[i]++
				more = true
			}
		}
	}
	return got
}

func TestCallersShareWhatThereIs(t *testing.T) {
	tests := map[string]struct {
		exempt, addresses []string
		want              []int
	}{
		"one caller alone gets half":                 {nil, []string{"10.0.0.1"}, []int{50}},
		"two get a third each":                       {nil, []string{"10.0.0.1", "10.0.0.2"}, []int{34, 33}},
		"one that is exempt gets all":                {[]string{"10.0.0.0/24"}, []string{"10.0.0.1"}, []int{100}},
		"a network of IPv6 is one caller":            {nil, []string{"fd00::1", "fd00::2"}, []int{25, 25}},
		"an IPv4 address in IPv6's form is the same": {nil, []string{"10.0.0.1", "::ffff:10.0.0.1"}, []int{25, 25}},
		"those whose address is no address are one":  {nil, []string{"a", "b"}, []int{25, 25}},
		"three get a quarter each":                   {nil, []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}, []int{25, 25, 25}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := share.NewPool(100)
			all := callers(t, tc.exempt, tc.addresses...)
			got := fill(p, all)
			if fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			for i, c := range all {
				for range got[i] {
					p.Give(c, 1)
				}
			}
			if p.Used() != 0 || p.Refused() == 0 {
				t.Errorf("%d are taken, %d refused; want none taken and some refused", p.Used(), p.Refused())
			}
		})
	}
}

// TestThereIsSomethingLeftForOneMore lets many callers take all they can, one after the other.
func TestThereIsSomethingLeftForOneMore(t *testing.T) {
	p := share.NewPool(1000)
	var addresses []string
	for i := range 8 {
		addresses = append(addresses, fmt.Sprintf("10.0.0.%d", i))
	}
	for _, c := range callers(t, nil, addresses...) {
		fill(p, []share.Caller{c})
	}
	if !p.Take(callers(t, nil, "10.0.1.1")[0], 1) {
		t.Errorf("%d of 1000 are taken, and a new caller gets nothing", p.Used())
	}
}

func TestAPoolOfOneServesOne(t *testing.T) {
	p := share.NewPool(1)
	all := callers(t, nil, "10.0.0.1", "10.0.0.2")
	if !p.Take(all[0], 1) || p.Take(all[0], 1) || p.Take(all[1], 1) {
		t.Error("want that one is served, and no more")
	}
}

func TestExemptCallersMustBePrefixes(t *testing.T) {
	for _, text := range []string{"", "10.0.0.0/33", "balancer", "10.0.0.1:80"} {
		if _, err := share.ParseExempt([]string{text}); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
