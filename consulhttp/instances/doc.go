// Package instances reads what instances of services are on many nodes, in calls whose number does not grow with the nodes: of few nodes, each node is
// read; of many, their services are, in pages. It reads with the consistency that it is given, each page at a revision of its own. What is gone by then
// is left out, and what the caller may not read. The nodes and the services that it is given the caller may read itself.
package instances
