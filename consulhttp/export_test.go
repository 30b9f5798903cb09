package consulhttp

import "slices"

// Endpoints returns the method and path of each endpoint that members serve. One whose path ends in a slash takes an argument there.
func Endpoints() []string {
	var out []string
	for _, r := range newRoutes(&core{}) {
		for method := range r.methods {
			out = append(out, method+" "+r.path+r.suffix)
		}
	}
	slices.Sort(out)
	return out
}
