package layout

// CheckEnvelope refuses what DecodeEnvelope refuses of an envelope that proto has read.
var CheckEnvelope = checkEnvelope
