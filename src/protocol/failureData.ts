import * as v from 'valibot';
import { reasons } from '../base/failure.ts';

/** Serialized Failure, as sent between processes and written to files. Later versions may have more reasons. */
export const failureDataSchema = v.object({
	reason: v.fallback(v.picklist(reasons), 'internal'),
	message: v.string(),
	action: v.optional(v.string()),
	/** Absent in messages from engines of version 0.2 and earlier. */
	context: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
});
