package planted

// Enabled reports whether this program was built with the overlay, which replaces this file.
const Enabled = false
