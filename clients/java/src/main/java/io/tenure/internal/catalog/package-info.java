/** How an instance of a service is registered, and stays so. Not for users. */
package io.tenure.internal.catalog;
