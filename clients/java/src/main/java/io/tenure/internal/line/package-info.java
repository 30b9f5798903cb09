/** The way to the members: connections, the line that carries calls, what secures them, and how calls are tried again. Not for users. */
package io.tenure.internal.line;
