package rest

import (
	"net/http"
	"strings"
	"testing"
)

// TestBadRequestsAreRefused is the table of what REST itself refuses: nothing of it may reach a service.
func TestBadRequestsAreRefused(t *testing.T) {
	rig := newRESTRig(t)
	const id = "00000000-0000-4000-8000-000000000001"
	tests := map[string]struct {
		method, target string
		headers        []string
		body           string
		status         int
		code, field    string
		text           string // that the message begins with; empty: whatever it is
	}{
		// Paths.
		"an empty key":                    {method: "GET", target: "/v1/kv/", status: 400, code: "KEY_EMPTY", field: "key"},
		"an empty key of a put":           {method: "PUT", target: "/v1/kv/?acquire=" + id, body: "x", status: 400, code: "KEY_EMPTY", field: "key"},
		"an empty key of a lock":          {method: "POST", target: "/v1/locks/", body: "{}", status: 400, code: "KEY_EMPTY", field: "key"},
		"an empty key of an election":     {method: "GET", target: "/v1/elections/", status: 400, code: "KEY_EMPTY", field: "key"},
		"a key that is not UTF-8":         {method: "PUT", target: "/v1/kv/%ff", body: "x", status: 400, code: "MALFORMED_REQUEST", field: "path"},
		"a key that is half a character":  {method: "PUT", target: "/v1/kv/%c3", body: "x", status: 400, code: "MALFORMED_REQUEST", field: "path"},
		"a key with a surrogate":          {method: "PUT", target: "/v1/kv/%ed%a0%80", body: "x", status: 400, code: "MALFORMED_REQUEST", field: "path"},
		"an unknown path":                 {method: "GET", target: "/v1/keys", status: 404, code: "METHOD_NOT_FOUND"},
		"the root":                        {method: "GET", target: "/", status: 404, code: "METHOD_NOT_FOUND"},
		"a path in capitals":              {method: "GET", target: "/V1/kv/a", status: 404, code: "METHOD_NOT_FOUND"},
		"a doubled slash before the noun": {method: "GET", target: "//v1/kv/a", status: 404, code: "METHOD_NOT_FOUND"},
		"an escaped slash in the noun":    {method: "GET", target: "/v1/kv%2fa", status: 404, code: "METHOD_NOT_FOUND"},
		"a slash too many":                {method: "POST", target: "/v1/txn/", body: "{}", status: 404, code: "METHOD_NOT_FOUND"},
		"dots that others would clean":    {method: "GET", target: "/v1/status/../kv/a", status: 404, code: "METHOD_NOT_FOUND"},
		"a session id that is empty":      {method: "GET", target: "/v1/sessions/", status: 400, code: "SESSION_ID_INVALID", field: "sessionId"},
		"a session id with a slash":       {method: "GET", target: "/v1/sessions/a%2frenew", status: 400, code: "SESSION_ID_INVALID", field: "sessionId"},
		"a sequencer with a slash":        {method: "GET", target: "/v1/sequencers/a%2fb", status: 400, code: "SEQUENCER_INVALID", field: "text"},
		"a member id that is no number":   {method: "DELETE", target: "/v1/admin/members/one", status: 400, code: "MALFORMED_REQUEST", field: "memberId"},
		"a member id that is too large":   {method: "DELETE", target: "/v1/admin/members/18446744073709551616", status: 400, code: "MALFORMED_REQUEST", field: "memberId"},

		// Methods.
		"a wrong method":                  {method: "PATCH", target: "/v1/kv/a", body: "x", status: 405, code: "METHOD_NOT_FOUND"},
		"a method nobody knows":           {method: "BREW", target: "/v1/kv/a", status: 405, code: "METHOD_NOT_FOUND"},
		"a method in small letters":       {method: "get", target: "/v1/kv/a", status: 405, code: "METHOD_NOT_FOUND"},
		"HEAD of a stream":                {method: "HEAD", target: "/v1/watch", status: 405},
		"TRACE":                           {method: "TRACE", target: "/v1/kv/a", status: 405, code: "METHOD_NOT_FOUND"},
		"a wrong method for health":       {method: "POST", target: "/healthz", body: "x", status: 405, code: "METHOD_NOT_FOUND"},
		"a method that a header replaces": {method: "POST", target: "/v1/kv", headers: []string{"X-HTTP-Method-Override: GET"}, body: "prefix=a", status: 405, code: "METHOD_NOT_FOUND"},

		// Query parameters.
		"a misspelt parameter must not write":   {method: "PUT", target: "/v1/kv/a?acqire=" + id, body: "x", status: 400, code: "UNKNOWN_FIELD", field: "acqire"},
		"a parameter in capitals":               {method: "PUT", target: "/v1/kv/a?Acquire=" + id, body: "x", status: 400, code: "UNKNOWN_FIELD", field: "Acquire"},
		"a parameter named as in the protos":    {method: "PUT", target: "/v1/kv/a?if_revision=0", body: "x", status: 400, code: "UNKNOWN_FIELD", field: "if_revision"},
		"a page size named as in the protos":    {method: "GET", target: "/v1/kv?page_size=1", status: 400, code: "UNKNOWN_FIELD", field: "page_size", text: "page_size: unknown query parameter; its name is pageSize"},
		"a name that nobody knows":              {method: "GET", target: "/v1/kv?page_siz=1", status: 400, code: "UNKNOWN_FIELD", field: "page_siz", text: "page_siz: unknown query parameter; this path has "},
		"a parameter with an empty session":     {method: "PUT", target: "/v1/kv/a?acquire=", body: "x", status: 400, code: "SESSION_ID_INVALID", field: "acquire"},
		"a parameter without a session":         {method: "PUT", target: "/v1/kv/a?acquire", body: "x", status: 400, code: "SESSION_ID_INVALID", field: "acquire"},
		"an empty resume token":                 {method: "GET", target: "/v1/watch?keys=a&resumeToken=", status: 400, code: "RESUME_TOKEN_INVALID", field: "resumeToken"},
		"an empty session in a list":            {method: "GET", target: "/v1/watch?sessionIds=", status: 400, code: "SESSION_ID_INVALID", field: "sessionIds"},
		"a repeated parameter":                  {method: "PUT", target: "/v1/kv/a?acquire=" + id + "&acquire=" + id, body: "x", status: 400, code: "UNKNOWN_FIELD", field: "acquire"},
		"a repeated parameter, once escaped":    {method: "PUT", target: "/v1/kv/a?flags=1&fl%61gs=2", body: "x", status: 400, code: "UNKNOWN_FIELD", field: "flags"},
		"acquire with release":                  {method: "PUT", target: "/v1/kv/a?acquire=" + id + "&release=" + id, body: "x", status: 400, code: "UNKNOWN_FIELD", field: "release"},
		"acquire with ifRevision":               {method: "PUT", target: "/v1/kv/a?acquire=" + id + "&ifRevision=1", body: "x", status: 400, code: "UNKNOWN_FIELD", field: "ifRevision"},
		"release with ifRevision":               {method: "PUT", target: "/v1/kv/a?release=" + id + "&ifRevision=1", body: "x", status: 400, code: "UNKNOWN_FIELD", field: "ifRevision"},
		"two of a oneof":                        {method: "DELETE", target: "/v1/locks/a?sessionId=" + id + "&put=eA==&delete=true", status: 400, code: "UNKNOWN_FIELD", field: "put"},
		"a key in the query too":                {method: "GET", target: "/v1/kv/a?key=b", status: 400, code: "UNKNOWN_FIELD", field: "key"},
		"a value in the query of a raw put":     {method: "PUT", target: "/v1/kv/a?value=eA==", body: "x", status: 400, code: "UNKNOWN_FIELD", field: "value"},
		"a secret in the query":                 {method: "PUT", target: "/v1/kv/a?options.sessionSecret=eA==", body: "x", status: 400, code: "UNKNOWN_FIELD", field: "options.sessionSecret"},
		"an idempotency key in the query":       {method: "PUT", target: "/v1/kv/a?options.idempotencyKey=eA==", body: "x", status: 400, code: "UNKNOWN_FIELD", field: "options.idempotencyKey"},
		"an object in the query":                {method: "GET", target: "/v1/kv/a?read=stale", status: 400, code: "UNKNOWN_FIELD", field: "read"},
		"a list of objects in the query":        {method: "DELETE", target: "/v1/kv/a?options.guards=x", status: 400, code: "UNKNOWN_FIELD", field: "options.guards"},
		"a field of a text in the query":        {method: "GET", target: "/v1/kv?prefix.x=1", status: 400, code: "UNKNOWN_FIELD", field: "prefix.x"},
		"a field of a duration in the query":    {method: "GET", target: "/v1/watch?wait.seconds=1", status: 400, code: "UNKNOWN_FIELD", field: "wait.seconds"},
		"a parameter that a list would take":    {method: "GET", target: "/v1/kv?raw", status: 400, code: "UNKNOWN_FIELD", field: "raw"},
		"a parameter beside a JSON body":        {method: "POST", target: "/v1/kv/a?acquire=" + id, body: `{"text":"x"}`, status: 400, code: "UNKNOWN_FIELD", field: "acquire"},
		"a parameter of health":                 {method: "GET", target: "/healthz?deep", status: 400, code: "UNKNOWN_FIELD", field: "deep"},
		"a parameter without a name":            {method: "GET", target: "/v1/kv?=x", status: 400, code: "UNKNOWN_FIELD"},
		"a damaged escape in the query":         {method: "PUT", target: "/v1/kv/a?flags=%zz", body: "x", status: 400, code: "MALFORMED_REQUEST", field: "query"},
		"a semicolon in the query":              {method: "PUT", target: "/v1/kv/a?flags=1;acquire=x", body: "x", status: 400, code: "MALFORMED_REQUEST", field: "query"},
		"a parameter that is not UTF-8":         {method: "GET", target: "/v1/kv?prefix=%ff", status: 400, code: "MALFORMED_REQUEST", field: "prefix"},
		"a name that is not UTF-8":              {method: "GET", target: "/v1/kv?%ff=1", status: 400, code: "MALFORMED_REQUEST", field: "query"},
		"flags that are negative":               {method: "PUT", target: "/v1/kv/a?flags=-1", body: "x", status: 400, code: "MALFORMED_REQUEST", field: "flags"},
		"flags that are too large":              {method: "PUT", target: "/v1/kv/a?flags=18446744073709551616", body: "x", status: 400, code: "MALFORMED_REQUEST", field: "flags"},
		"flags that are empty":                  {method: "PUT", target: "/v1/kv/a?flags=", body: "x", status: 400, code: "MALFORMED_REQUEST", field: "flags"},
		"an ifRevision that is empty":           {method: "PUT", target: "/v1/kv/a?ifRevision=", body: "x", status: 400, code: "MALFORMED_REQUEST", field: "ifRevision"},
		"an ifRevision that is a word":          {method: "DELETE", target: "/v1/kv/a?ifRevision=last", status: 400, code: "MALFORMED_REQUEST", field: "ifRevision"},
		"a flag that is neither true nor false": {method: "DELETE", target: "/v1/sessions/" + id + "?clean=maybe", status: 400, code: "MALFORMED_REQUEST", field: "clean"},
		"a wait without unit":                   {method: "GET", target: "/v1/watch?wait=30", status: 400, code: "INVALID_ARGUMENT", field: "wait"},
		"a wait beyond all bounds":              {method: "GET", target: "/v1/watch?wait=9999999999s", status: 400, code: "INVALID_ARGUMENT", field: "wait", text: `wait: "9999999999s" is out of range`},
		"a page size that is negative":          {method: "GET", target: "/v1/kv?pageSize=-1", status: 400, code: "MALFORMED_REQUEST", field: "pageSize"},
		"a raw that is neither true nor false":  {method: "GET", target: "/v1/kv/a?raw=2", status: 400, code: "MALFORMED_REQUEST", field: "raw"},
		"raw, twice":                            {method: "GET", target: "/v1/kv/a?raw&raw", status: 400, code: "UNKNOWN_FIELD", field: "raw"},

		// JSON.
		"an unknown field":                  {method: "POST", target: "/v1/sessions", body: `{"nam":"x"}`, status: 400, code: "UNKNOWN_FIELD", field: "nam"},
		"an unknown field inside":           {method: "POST", target: "/v1/kv/a", body: `{"options":{"onwer":"x"}}`, status: 400, code: "UNKNOWN_FIELD", field: "options.onwer"},
		"an unknown field in a list":        {method: "POST", target: "/v1/txn", body: `{"then":[{"put":{"kye":"a"}}]}`, status: 400, code: "UNKNOWN_FIELD", field: "then.put.kye"},
		"a field named as in the protos":    {method: "POST", target: "/v1/sessions", body: `{"lock_delay":"1s"}`, status: 400, code: "UNKNOWN_FIELD", field: "lock_delay", text: "lock_delay: unknown field; its name is lockDelay"},
		"a field in capitals":               {method: "POST", target: "/v1/sessions", body: `{"Name":"x"}`, status: 400, code: "UNKNOWN_FIELD", field: "Name"},
		"a field given twice":               {method: "POST", target: "/v1/sessions", body: `{"name":"x","name":"y"}`, status: 400, code: "UNKNOWN_FIELD", field: "name"},
		"a field given twice, once escaped": {method: "POST", target: "/v1/sessions", body: `{"name":"x","n\u0061me":"y"}`, status: 400, code: "UNKNOWN_FIELD", field: "name"},
		"an entry of a map given twice":     {method: "POST", target: "/v1/sessions", body: `{"metadata":{"a":"x","a":"y"}}`, status: 400, code: "UNKNOWN_FIELD", field: "metadata.a"},
		"two of a oneof in JSON":            {method: "POST", target: "/v1/kv/a", body: `{"text":"x","value":"eA=="}`, status: 400, code: "UNKNOWN_FIELD", field: "value"},
		"a key in the body too":             {method: "POST", target: "/v1/kv/a", body: `{"key":"b","text":"x"}`, status: 400, code: "UNKNOWN_FIELD", field: "key"},
		"a session in the body too":         {method: "POST", target: "/v1/sessions/" + id + "/renew", body: `{"sessionId":"` + id + `"}`, status: 400, code: "UNKNOWN_FIELD", field: "sessionId"},
		"an empty session in JSON":          {method: "POST", target: "/v1/kv/a", body: `{"text":"x","acquire":""}`, status: 400, code: "SESSION_ID_INVALID", field: "acquire"},
		"an empty resume token in JSON":     {method: "POST", target: "/v1/watch", body: `{"keys":["a"],"resumeToken":""}`, status: 400, code: "RESUME_TOKEN_INVALID", field: "resumeToken"},
		"a put of an empty object":          {method: "POST", target: "/v1/kv/a", body: `{}`, status: 400, code: "INVALID_ARGUMENT", field: "value"},
		"a put without a body":              {method: "POST", target: "/v1/kv/a", status: 400, code: "INVALID_ARGUMENT", field: "value"},
		"a put of null":                     {method: "POST", target: "/v1/kv/a", body: `{"text":null}`, status: 400, code: "INVALID_ARGUMENT", field: "value"},
		"a put that only takes a lock":      {method: "POST", target: "/v1/kv/a", body: `{"acquire":"` + id + `"}`, status: 400, code: "INVALID_ARGUMENT", field: "value"},
		"truncated JSON":                    {method: "POST", target: "/v1/kv/a", body: `{"text":"x`, status: 400, code: "MALFORMED_REQUEST", field: "body"},
		"JSON without its end":              {method: "POST", target: "/v1/kv/a", body: `{"text":"x"`, status: 400, code: "MALFORMED_REQUEST", field: "body"},
		"JSON with something behind it":     {method: "POST", target: "/v1/kv/a", body: `{"text":"x"}{}`, status: 400, code: "MALFORMED_REQUEST", field: "body"},
		"JSON with a comma too many":        {method: "POST", target: "/v1/kv/a", body: `{"text":"x",}`, status: 400, code: "MALFORMED_REQUEST", field: "body"},
		"JSON with a comment":               {method: "POST", target: "/v1/kv/a", body: `{"text":"x"} // y`, status: 400, code: "MALFORMED_REQUEST", field: "body"},
		"JSON with single quotes":           {method: "POST", target: "/v1/kv/a", body: `{'text':'x'}`, status: 400, code: "MALFORMED_REQUEST", field: "body"},
		"JSON with a byte order mark":       {method: "POST", target: "/v1/kv/a", body: "\xef\xbb\xbf{}", status: 400, code: "MALFORMED_REQUEST", field: "body"},
		"JSON that is not UTF-8":            {method: "POST", target: "/v1/kv/a", body: "{\"text\":\"\xff\"}", status: 400, code: "MALFORMED_REQUEST", field: "body"},
		"JSON with half a surrogate":        {method: "POST", target: "/v1/kv/a", body: `{"text":"\ud800"}`, status: 400, code: "MALFORMED_REQUEST"},
		"JSON with a control character":     {method: "POST", target: "/v1/kv/a", body: "{\"text\":\"\x01\"}", status: 400, code: "MALFORMED_REQUEST", field: "body"},
		"JSON that is no object":            {method: "POST", target: "/v1/kv/a", body: `["text"]`, status: 400, code: "MALFORMED_REQUEST", field: "body"},
		"JSON that is null":                 {method: "POST", target: "/v1/kv/a", body: `null`, status: 400, code: "MALFORMED_REQUEST", field: "body"},
		"JSON nested too deep":              {method: "POST", target: "/v1/txn", body: strings.Repeat(`{"then":[`, 5000), status: 400, code: "UNKNOWN_FIELD", field: "then.then"},
		"a deep list":                       {method: "POST", target: "/v1/txn", body: `{"then":` + strings.Repeat(`[`, 30000), status: 400, code: "MALFORMED_REQUEST", field: "then"},
		"a form":                            {method: "POST", target: "/v1/kv/a", headers: []string{"Content-Type: application/x-www-form-urlencoded"}, body: "text=x", status: 400, code: "MALFORMED_REQUEST", field: "body"},
		"wrong base64":                      {method: "POST", target: "/v1/kv/a", body: `{"value":"e!"}`, status: 400, code: "MALFORMED_REQUEST", field: "value"},
		"base64 cut short":                  {method: "POST", target: "/v1/kv/a", body: `{"value":"eHh4e"}`, status: 400, code: "MALFORMED_REQUEST", field: "value"},
		"NaN":                               {method: "POST", target: "/v1/kv/a", body: `{"flags":NaN}`, status: 400, code: "MALFORMED_REQUEST", field: "body"},
		"NaN as text":                       {method: "POST", target: "/v1/kv/a", body: `{"flags":"NaN"}`, status: 400, code: "MALFORMED_REQUEST", field: "flags"},
		"a negative number":                 {method: "POST", target: "/v1/kv/a", body: `{"flags":-1}`, status: 400, code: "MALFORMED_REQUEST", field: "flags"},
		"a number that is too large":        {method: "POST", target: "/v1/kv/a", body: `{"flags":18446744073709551616}`, status: 400, code: "MALFORMED_REQUEST", field: "flags"},
		"a number with an exponent":         {method: "POST", target: "/v1/kv/a", body: `{"flags":1e400}`, status: 400, code: "MALFORMED_REQUEST", field: "flags"},
		"a text for a truth":                {method: "POST", target: "/v1/kv/a", body: `{"sequential":"yes"}`, status: 400, code: "MALFORMED_REQUEST", field: "sequential"},
		"a number for a text":               {method: "POST", target: "/v1/sessions", body: `{"name":1}`, status: 400, code: "MALFORMED_REQUEST", field: "name"},
		"an object for a text":              {method: "POST", target: "/v1/sessions", body: `{"name":{}}`, status: 400, code: "MALFORMED_REQUEST", field: "name"},
		"a text for an object":              {method: "POST", target: "/v1/kv/a", body: `{"options":"x"}`, status: 400, code: "MALFORMED_REQUEST", field: "options"},
		"a list for an object":              {method: "POST", target: "/v1/kv/a", body: `{"options":[]}`, status: 400, code: "MALFORMED_REQUEST", field: "options"},
		"an object for a list":              {method: "POST", target: "/v1/txn", body: `{"then":{}}`, status: 400, code: "MALFORMED_REQUEST", field: "then"},
		"null in a list":                    {method: "POST", target: "/v1/txn", body: `{"then":[null]}`, status: 400, code: "MALFORMED_REQUEST", field: "then"},
		"an unknown enum value":             {method: "POST", target: "/v1/sessions", body: `{"behavior":"KEEP"}`, status: 400, code: "MALFORMED_REQUEST", field: "behavior"},
		"an unknown enum number":            {method: "POST", target: "/v1/sessions", body: `{"behavior":9}`, status: 400, code: "MALFORMED_REQUEST", field: "behavior"},
		"a ttl without unit":                {method: "POST", target: "/v1/sessions", body: `{"ttl":"15"}`, status: 400, code: "INVALID_ARGUMENT", field: "ttl"},
		"a ttl that is a number":            {method: "POST", target: "/v1/sessions", body: `{"ttl":15}`, status: 400, code: "INVALID_ARGUMENT", field: "ttl", text: `ttl: "15" is not a duration; write seconds, such as "15s"`},
		"a ttl beyond all bounds":           {method: "POST", target: "/v1/sessions", body: `{"ttl":"9999999999999s"}`, status: 400, code: "TTL_OUT_OF_RANGE", field: "ttl"},
		"a lock-delay beyond all bounds":    {method: "POST", target: "/v1/sessions", body: `{"lockDelay":"-9999999999999s"}`, status: 400, code: "LOCK_DELAY_OUT_OF_RANGE", field: "lockDelay"},
		"a lock-delay that is a word":       {method: "POST", target: "/v1/sessions", body: `{"lockDelay":"none"}`, status: 400, code: "INVALID_ARGUMENT", field: "lockDelay"},

		// Bodies and headers.
		"a body that is too large":                         {method: "PUT", target: "/v1/kv/a", body: strings.Repeat("x", restBytesMax+1), status: 413, code: "TOO_LARGE", field: "body"},
		"a chunked body that is too large":                 {method: "PUT", target: "/v1/kv/a", headers: []string{"Transfer-Encoding: chunked"}, body: strings.Repeat("x", restBytesMax+1), status: 413, code: "TOO_LARGE", field: "body"},
		"JSON that is too large, chunked":                  {method: "POST", target: "/v1/kv/a", headers: []string{"Transfer-Encoding: chunked"}, body: `{"text":"` + strings.Repeat("x", 4*restBytesMax) + `"}`, status: 413, code: "TOO_LARGE", field: "body"},
		"a compressed body":                                {method: "PUT", target: "/v1/kv/a", headers: []string{"Content-Encoding: gzip"}, body: "x", status: 415, code: "MALFORMED_REQUEST", field: "Content-Encoding"},
		"a body that is compressed by the second header":   {method: "PUT", target: "/v1/kv/a", headers: []string{"Content-Encoding: identity", "Content-Encoding: gzip"}, body: "x", status: 415, code: "MALFORMED_REQUEST", field: "Content-Encoding"},
		"a body that is compressed behind an empty header": {method: "PUT", target: "/v1/kv/a", headers: []string{"Content-Encoding: ", "Content-Encoding: gzip"}, body: "x", status: 415, code: "MALFORMED_REQUEST", field: "Content-Encoding"},
		"a body where none belongs":                        {method: "DELETE", target: "/v1/locks/a", body: `{"sessionId":"` + id + `"}`, status: 400, code: "UNKNOWN_FIELD", field: "body"},
		"a secret given twice":                             {method: "PUT", target: "/v1/kv/a", headers: []string{"Tenure-Session-Secret: eA==", "Tenure-Session-Secret: eQ=="}, body: "x", status: 400, code: "UNKNOWN_FIELD", field: "Tenure-Session-Secret"},
		"a secret that is empty":                           {method: "PUT", target: "/v1/kv/a", headers: []string{"Tenure-Session-Secret: "}, body: "x", status: 400, code: "MALFORMED_REQUEST", field: "Tenure-Session-Secret"},
		"an idempotency key beyond ASCII":                  {method: "PUT", target: "/v1/kv/a", headers: []string{"Idempotency-Key: sch\u00f6n"}, body: "x", status: 400, code: "MALFORMED_REQUEST", field: "Idempotency-Key"},

		// Not served yet.
		"an election":   {method: "POST", target: "/v1/elections/a", body: `{"sessionId":"` + id + `"}`, status: 501, code: "FEATURE_NOT_ENABLED"},
		"a transaction": {method: "POST", target: "/v1/txn", body: `{}`, status: 501, code: "FEATURE_NOT_ENABLED"},
		"a backup":      {method: "GET", target: "/v1/admin/backup", status: 501, code: "FEATURE_NOT_ENABLED"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			rig.take()
			got := rig.send(t, tc.method, tc.target, tc.headers, tc.body)
			if got.status != tc.status || got.error.Code != tc.code {
				t.Errorf("got %d %s, want %d %s; answer: %.300s", got.status, got.error.Code, tc.status, tc.code, got.body)
			}
			if tc.field != "" && got.error.Metadata["field"] != tc.field {
				t.Errorf("error names field %q, want %q: %.300s", got.error.Metadata["field"], tc.field, got.body)
			}
			if !strings.HasPrefix(got.error.Message, tc.text) {
				t.Errorf("got the text %.200q, want %q", got.error.Message, tc.text)
			}
			for _, v := range got.error.Violations {
				if tc.field != "" && v.Field != tc.field {
					t.Errorf("a violation names field %q, want %q", v.Field, tc.field)
				}
			}
			if tc.status == http.StatusMethodNotAllowed && got.header.Get("Allow") == "" {
				t.Error("answer does not say which methods are allowed")
			}
			if len(got.body) > 4096 {
				t.Errorf("error has %d bytes", len(got.body))
			}
			if calls := rig.take(); tc.status != http.StatusNotImplemented && len(calls) > 0 {
				t.Errorf("refused request reached %s", calls[0].method)
			}
		})
	}
}

// TestMalformedRequestsAreRefusedByTheListener shows what never gets as far as a handler: the answer has no reason.
func TestMalformedRequestsAreRefusedByTheListener(t *testing.T) {
	rig := newRESTRig(t)
	tests := map[string]struct {
		target string
		status int
	}{
		"an escape that is none":   {"/v1/kv/%zz", http.StatusBadRequest},
		"an escape cut short":      {"/v1/kv/%4", http.StatusBadRequest},
		"headers that are too big": {"/v1/kv/" + strings.Repeat("a", 2*httpHeaderBytesMax), http.StatusRequestHeaderFieldsTooLarge},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := rig.send(t, "GET", tc.target, nil, ""); got.status != tc.status {
				t.Errorf("got %d, want %d", got.status, tc.status)
			}
		})
	}
}
