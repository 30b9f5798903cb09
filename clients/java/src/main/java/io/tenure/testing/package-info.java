/** Real members for your own tests. */
package io.tenure.testing;
