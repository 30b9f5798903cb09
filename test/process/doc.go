// Package process tests one real member through kill -9, pauses and full load: what it acknowledged must be there, what
// renews must live, and what is abandoned must end on time.
package process
