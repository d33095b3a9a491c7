import type { ForeignMetrics } from '../foreignRecord.ts';
import { fieldsOf, integerOf, numberOf, textOf } from '../foreignValues.ts';

/** Reads the scalars in a TensorBoard event file by tag; text and other events are not metrics. */
export function eventMetrics(record: unknown): readonly ForeignMetrics[] | string {
	const event = fieldsOf(record);
	const tag = textOf(event?.tag);
	const step = integerOf(event?.step);
	if (!event || tag === null || step === null || !('value' in event) || typeof event.text === 'string') return [];
	return [{ step, time: numberOf(event.time), values: { [tag]: numberOf(event.value) } }];
}
