// Package kv is the commands about keys: tenure kv, and tenure txn.
package kv
