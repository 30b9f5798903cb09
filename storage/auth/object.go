package auth

import storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"

// object returns the row of the one object that a change may alter or delete; nil for the mode, for what makes a token, and for what changes
// nobody's rights.
func object(change *storev1.ChangeAuth) []byte {
	switch kind := change.GetChange().(type) {
	case *storev1.ChangeAuth_PutPolicy:
		return policyRow(kind.PutPolicy.GetName())
	case *storev1.ChangeAuth_DeletePolicy:
		return policyRow(kind.DeletePolicy)
	case *storev1.ChangeAuth_RotateToken:
		return tokenRow(kind.RotateToken.GetAccessor())
	case *storev1.ChangeAuth_RevokeToken:
		return tokenRow(kind.RevokeToken)
	case *storev1.ChangeAuth_PutBinding:
		return bindingRow(kind.PutBinding.GetName())
	case *storev1.ChangeAuth_DeleteBinding:
		return bindingRow(kind.DeleteBinding)
	case *storev1.ChangeAuth_PutProvider:
		return providerRow(kind.PutProvider.GetName())
	case *storev1.ChangeAuth_DeleteProvider:
		return providerRow(kind.DeleteProvider)
	default:
		return nil
	}
}

// MayTakeAway reports whether a change may take a right away at any state. A nil change does not.
func MayTakeAway(change *storev1.ChangeAuth) bool {
	switch change.GetChange().(type) {
	case *storev1.ChangeAuth_Bootstrap, *storev1.ChangeAuth_SetMode:
		return true
	default:
		return change != nil && object(change) != nil
	}
}

// TakesAway reports whether a change may take a right away, at the state with a mode. A nil change does not.
func (r *Reader) TakesAway(change *storev1.ChangeAuth, mode storev1.AuthMode) (bool, error) {
	if change == nil {
		return false, nil
	}
	if set, is := change.GetChange().(*storev1.ChangeAuth_SetMode); is {
		return set.SetMode > mode, nil
	}
	row := object(change)
	if row == nil {
		return false, nil
	}
	_, found, err := r.rows.Get(row)
	return found, err
}
