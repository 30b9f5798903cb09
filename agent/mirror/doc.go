// Package mirror asks the catalog how another node is, or a service on it: that is the status of a check of kind alias. What
// the catalog cannot be asked keeps the status it has.
package mirror
