// Package fake is a member for tests of commands: it answers as a test tells it. No command imports it.
package fake
