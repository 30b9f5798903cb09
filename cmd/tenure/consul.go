package main

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenure-io/tenure/consulhttp"
)

// newConsulCommand returns `tenure consul`.
func newConsulCommand(env *environment) *cobra.Command {
	return groupCommand("consul", "Move from Consul to Tenure",
		`  tenure consul import http://127.0.0.1:8500
  consul kv export | tenure consul import -`,
		newConsulImportCommand(env))
}

// registerConsul declares the flags of what serves clients of Consul.
func registerConsul(flags *pflag.FlagSet, o *consulhttp.Options) {
	flags.StringVar(&o.Datacenter, "consul-datacenter", "dc1", "name of the datacenter for clients of Consul")
	flags.DurationVar(&o.SessionTTLMin, "consul-session-ttl-min", 10*time.Second, "shortest TTL that clients of Consul may ask for")
	flags.Float64Var(&o.TTLFactor, "consul-ttl-factor", 2, "TTL that a client of Consul gets, as a multiple of the one it asks for: 1 to 2; Consul doubles it")
}
