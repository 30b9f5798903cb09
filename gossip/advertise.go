package gossip

import (
	"errors"
	"fmt"
	"net"

	"github.com/hashicorp/go-sockaddr"
)

// errNoAddress means that nothing says where others reach this machine.
var errNoAddress = errors.New("this machine has no IP address that others can reach; give the address at which they reach it with --advertise-gossip")

// told returns the IP address and port that others are told. A port of 0 is the one that is bound.
func (o *Options) told() (host string, port int, err error) {
	if o.Advertise != "" {
		return split(o.Advertise)
	}
	if host, port, err = split(o.Listen); err != nil {
		return "", 0, err
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
		return host, port, nil
	}
	if o.Reached != "" {
		return o.Reached, port, nil
	}
	// memberlist takes a private one for 0.0.0.0, and for [::] tells others [::].
	for _, address := range []func() (string, error){sockaddr.GetPrivateIP, sockaddr.GetPublicIP} {
		if host, err = address(); err != nil {
			return "", 0, fmt.Errorf("look for this machine's IP address: %w", err)
		}
		if host != "" {
			return host, port, nil
		}
	}
	return "", 0, errNoAddress
}
