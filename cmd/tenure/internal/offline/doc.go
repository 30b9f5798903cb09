// Package offline is the commands that speak to no member: tenure recover and tenure restore change the data directory of a member that does
// not run, and tenure cert makes certificates.
package offline
