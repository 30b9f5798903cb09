// Package prepared has prepared queries as Consul's JSON writes them, and reads them from and to those of tenure.v1.
//
// What Consul's queries can say and Tenure's cannot is refused by name and never left out. What Tenure's have beyond Consul's, fallbacks
// and facts, is kept when a query is replaced; Consul's JSON does not show it.
package prepared
