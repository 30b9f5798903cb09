package authz

import tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"

// Refusal is what an error says.
type Refusal struct {
	Reason tenurev1.ErrorReason
	// Key is the key that its facts are about; empty: they are about none.
	Key string
	// Facts are its facts, by name.
	Facts map[string]string
}

// telling says what errors of one reason tell of what exists, besides what facts say themselves.
type telling struct {
	// nothing is why they tell nothing that their caller may not know; empty: need must be met.
	nothing string
	// need returns what is needed to read the facts and the text; nil: nothing.
	need func(Refusal) *Need
	// facts are those that are left out without it.
	facts []string
	// text replaces the text without it.
	text string
}

// factNeeds are facts of any error that tell of the holder of a lock, with another verb that is enough to see them; 0: none is.
var factNeeds = []struct {
	name string
	or   Verb
}{{"holder_session_id", Lock}, {"holder_name", Lock}, {"holder_since_ms", 0}}

// ShowError returns which facts of an error a viewer may not see, and the text for those that may not see the error's own; empty
// where they may.
func (a *Answers) ShowError(r Refusal, viewer Viewer) (without []string, text string) {
	for _, f := range factNeeds {
		if _, there := r.Facts[f.name]; there &&
			!viewer.Covers(Need{Kind: Key, Verb: Read, Or: f.or, Match: Exact, Text: r.Key}) {
			without = append(without, f.name)
		}
	}
	about, known := tells[r.Reason]
	if !known {
		return without, "the error has no text for callers that may not read everything"
	}
	if about.need == nil {
		return without, ""
	}
	need := about.need(r)
	if need == nil || viewer.Covers(*need) {
		return without, ""
	}
	for _, name := range about.facts {
		if _, there := r.Facts[name]; there {
			without = append(without, name)
		}
	}
	return without, about.text
}

// Why errors tell nothing that their caller may not know.
const (
	ofRequest = "it tells only of the request itself"
	ofCluster = "it tells only of the cluster's own state"
	ofReads   = "the request needs the right to read what it tells of"
	ofSession = "the request needs the right to act as the session, or to read it"
	ofHolder  = "its facts tell of the holder, and have rows of their own"
)

// tells has every reason of an error.
var tells = map[tenurev1.ErrorReason]telling{
	tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED: {
		facts: []string{"revision"}, text: "a condition on the key does not hold",
		need: func(r Refusal) *Need {
			if r.Key == "" { // It is about an entry of the catalog, and write includes read there.
				return nil
			}
			return &Need{Kind: Key, Verb: Read, Match: Exact, Text: r.Key}
		},
	},
	tenurev1.ErrorReason_ERROR_REASON_NODE_ID_CONFLICT: {
		text: "the name or the machine of the node is registered otherwise",
		need: func(Refusal) *Need { return &Need{Kind: Node, Verb: Read, Match: Prefix} },
	},

	tenurev1.ErrorReason_ERROR_REASON_LOCK_HELD:           {nothing: ofHolder},
	tenurev1.ErrorReason_ERROR_REASON_LOCK_DELAYED:        {nothing: ofHolder},
	tenurev1.ErrorReason_ERROR_REASON_LOCK_NOT_HELD:       {nothing: ofHolder},
	tenurev1.ErrorReason_ERROR_REASON_FENCING_TOKEN_STALE: {nothing: ofHolder},
	tenurev1.ErrorReason_ERROR_REASON_LOCK_MODE_MISMATCH:  {nothing: ofHolder},
	tenurev1.ErrorReason_ERROR_REASON_FROZEN:              {nothing: ofHolder},

	tenurev1.ErrorReason_ERROR_REASON_KEY_NOT_FOUND:       {nothing: ofReads},
	tenurev1.ErrorReason_ERROR_REASON_LOCK_NOT_FOUND:      {nothing: ofReads},
	tenurev1.ErrorReason_ERROR_REASON_MEMBER_NOT_FOUND:    {nothing: ofReads},
	tenurev1.ErrorReason_ERROR_REASON_MEMBERSHIP_REFUSED:  {nothing: ofReads},
	tenurev1.ErrorReason_ERROR_REASON_CANDIDATE_NOT_FOUND: {nothing: ofReads},
	tenurev1.ErrorReason_ERROR_REASON_POLICY_NOT_FOUND:    {nothing: ofReads},
	tenurev1.ErrorReason_ERROR_REASON_TOKEN_NOT_FOUND:     {nothing: ofReads},
	tenurev1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND:      {nothing: ofReads},
	tenurev1.ErrorReason_ERROR_REASON_SERVICE_NOT_FOUND:   {nothing: ofReads},
	tenurev1.ErrorReason_ERROR_REASON_CHECK_NOT_FOUND:     {nothing: ofReads},
	tenurev1.ErrorReason_ERROR_REASON_QUERY_NOT_FOUND:     {nothing: ofReads},
	tenurev1.ErrorReason_ERROR_REASON_QUERY_NAME_TAKEN:    {nothing: "the request needs the right to write the name that is taken"},
	tenurev1.ErrorReason_ERROR_REASON_CHECK_CRITICAL:      {nothing: ofReads + ", but for the default check of a session's node"},
	tenurev1.ErrorReason_ERROR_REASON_SYNC_OUTDATED:       {nothing: ofReads},

	tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND:    {nothing: ofSession},
	tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED:      {nothing: ofSession},
	tenurev1.ErrorReason_ERROR_REASON_SESSION_SUPERSEDED:   {nothing: ofSession},
	tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG: {nothing: ofSession},
	tenurev1.ErrorReason_ERROR_REASON_EPOCH_MISMATCH:       {nothing: ofSession},
	tenurev1.ErrorReason_ERROR_REASON_ATTEMPT_OUTDATED:     {nothing: ofSession},
	tenurev1.ErrorReason_ERROR_REASON_REQUEST_ID_REUSED:    {nothing: ofSession},
	tenurev1.ErrorReason_ERROR_REASON_REQUEST_ID_DONE:      {nothing: ofSession},
	tenurev1.ErrorReason_ERROR_REASON_REQUEST_WINDOW_FULL:  {nothing: ofSession},

	tenurev1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT:        {nothing: ofRequest},
	tenurev1.ErrorReason_ERROR_REASON_KEY_EMPTY:               {nothing: ofRequest},
	tenurev1.ErrorReason_ERROR_REASON_KEY_TOO_LONG:            {nothing: ofRequest},
	tenurev1.ErrorReason_ERROR_REASON_MALFORMED_REQUEST:       {nothing: ofRequest},
	tenurev1.ErrorReason_ERROR_REASON_UNKNOWN_FIELD:           {nothing: ofRequest},
	tenurev1.ErrorReason_ERROR_REASON_PAGE_TOKEN_INVALID:      {nothing: ofRequest},
	tenurev1.ErrorReason_ERROR_REASON_RESUME_TOKEN_INVALID:    {nothing: ofRequest},
	tenurev1.ErrorReason_ERROR_REASON_SEQUENCER_INVALID:       {nothing: ofRequest},
	tenurev1.ErrorReason_ERROR_REASON_TTL_OUT_OF_RANGE:        {nothing: ofRequest},
	tenurev1.ErrorReason_ERROR_REASON_LOCK_DELAY_OUT_OF_RANGE: {nothing: ofRequest},
	tenurev1.ErrorReason_ERROR_REASON_SESSION_ID_INVALID:      {nothing: ofRequest},
	tenurev1.ErrorReason_ERROR_REASON_METHOD_NOT_FOUND:        {nothing: ofRequest},
	tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED:       {nothing: ofRequest},
	tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED:         {nothing: ofRequest},
	tenurev1.ErrorReason_ERROR_REASON_CANCELLED:               {nothing: ofRequest},
	tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED:       {nothing: ofRequest},
	tenurev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN:         {nothing: ofRequest},
	tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE:               {nothing: ofRequest},
	tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_KEYS:           {nothing: "the request may list the keys that it counts"},
	tenurev1.ErrorReason_ERROR_REASON_WATCHER_TOO_SLOW:        {nothing: ofRequest},

	tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED:           {nothing: ofCluster},
	tenurev1.ErrorReason_ERROR_REASON_REVISION_COMPACTED:    {nothing: ofCluster},
	tenurev1.ErrorReason_ERROR_REASON_REVISION_FUTURE:       {nothing: ofCluster},
	tenurev1.ErrorReason_ERROR_REASON_HISTORY_CHANGED:       {nothing: ofCluster},
	tenurev1.ErrorReason_ERROR_REASON_NO_LEADER:             {nothing: ofCluster},
	tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER:            {nothing: ofCluster},
	tenurev1.ErrorReason_ERROR_REASON_STOPPING:              {nothing: ofCluster},
	tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS:     {nothing: ofCluster},
	tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED:        {nothing: ofCluster},
	tenurev1.ErrorReason_ERROR_REASON_LIMIT_IN_USE:          {nothing: ofCluster},
	tenurev1.ErrorReason_ERROR_REASON_QUOTA_EXCEEDED:        {nothing: ofCluster},
	tenurev1.ErrorReason_ERROR_REASON_FEATURE_NOT_ENABLED:   {nothing: ofCluster},
	tenurev1.ErrorReason_ERROR_REASON_INTERNAL:              {nothing: ofCluster},
	tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED:        {nothing: ofCluster},
	tenurev1.ErrorReason_ERROR_REASON_AUTH_NOT_BOOTSTRAPPED: {nothing: ofCluster},
	tenurev1.ErrorReason_ERROR_REASON_AUTH_BOOTSTRAPPED:     {nothing: ofCluster},
	tenurev1.ErrorReason_ERROR_REASON_AUTH_UNSAFE:           {nothing: ofCluster},
	tenurev1.ErrorReason_ERROR_REASON_AUDIT_UNAVAILABLE:     {nothing: ofCluster},
}
