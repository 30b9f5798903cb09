// Package instead says what Tenure has in place of the parts of Consul's API that it does not serve.
package instead
