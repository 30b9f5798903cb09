// Package cluster holds tests of clusters of real processes, as their clients and operators see them: that every member
// serves everything, what a call sees when its leader dies under it, how sessions are kept alive through members that do
// not lead, how members come and go, and that what is measured and documented is what a running cluster shows.
package cluster
