// Package catalog serves CatalogService: nodes, services and checks, and what their changes do to sessions.
//
// It promises that a request which apply would refuse is refused with the name of the field that is at fault, and that a page
// of a listing is of one revision. It runs no check and keeps no time. Its conversions serve watches and transactions, too.
package catalog
