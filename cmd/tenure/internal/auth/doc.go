// Package auth is tenure auth: tokens, policies, bindings, providers and the mode.
package auth
