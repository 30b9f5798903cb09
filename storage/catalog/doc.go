// Package catalog says what a registration of a node, a service or a check may hold. Apply and the servers ask the same
// functions, so that a server refuses with the name of a field what apply would refuse. It knows no store.
package catalog
