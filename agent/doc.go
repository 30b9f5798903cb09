// Package agent is `tenure agent`: one on each machine, which registers the services and checks of the machine, runs the
// checks, and keeps the catalog like itself. It puts its rooms together, runs them and stops them. It sees the cluster only
// through a client of CatalogService.
//
// It promises that a restart turns no check critical, that what a call registered is on disk before the call is answered,
// and that files are taken as a whole or not at all.
package agent
