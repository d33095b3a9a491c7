import * as v from 'valibot';

/** A Failure as it is sent between processes. */
export const failureDataSchema = v.object({
	reason: v.picklist([
		'invalid',
		'missing',
		'exists',
		'busy',
		'unsupported',
		'denied',
		'full',
		'corrupt',
		'mismatch',
		'version',
		'unavailable',
		'timeout',
		'cancelled',
		'internal',
	]),
	message: v.string(),
	action: v.optional(v.string()),
});
