/** Real members for users' own tests. */
package io.tenure.testing;
