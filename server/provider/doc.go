// Package provider verifies JSON Web Tokens of the providers that the cluster accepts, and keeps their keys up to date.
//
// It promises that only asymmetric signatures count, that a token without an end, or with one that is more than a day away, is refused,
// that a key is forgotten only when the provider's server has answered without it, so a provider that is away changes nothing, that
// no key is taken from a set that has its private key, and that what it fetches is bounded in size and time. No text of a token is in an error, a
// log line or a metric.
//
// The signature comes first: what else is in a token is looked at only once it is known who wrote it. It knows no rules and no rights.
package provider
