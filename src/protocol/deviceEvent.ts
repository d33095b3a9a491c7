import * as v from 'valibot';
import { decode } from './decode.ts';
import type { EventLine } from './eventLine.ts';

const timingSchema = v.looseObject({
	provider: v.string(),
	rows: v.number(),
	tokens: v.number(),
	samplingMs: v.number(),
	updateMs: v.number(),
});

/** The `device` event, which records the device used by an engine and why others were not used. */
const deviceEventSchema = v.looseObject({
	took: v.string(),
	/** null if unknown. Absent on the CPU, and in events of older engines. */
	adapter: v.optional(v.nullable(v.string())),
	tried: v.optional(v.array(v.looseObject({ provider: v.string(), error: v.string() })), []),
	measured: v.optional(v.array(timingSchema), []),
});

/** Formats a device's measured times. */
export function timingText({
	samplingMs,
	updateMs,
}: {
	readonly samplingMs: number;
	readonly updateMs: number;
}): string {
	return `sampling ${Math.round(samplingMs)} ms and update ${Math.round(updateMs)} ms`;
}

/**
 * Returns the name of the adapter, then sentences about the devices that were tried but not used, then the
 * measurements; empty if none of these was recorded.
 */
export function deviceNotes(event: EventLine): string[] {
	const decoded = decode(deviceEventSchema, event);
	if (!decoded.ok) return [];
	const { took, adapter, tried, measured } = decoded.value;
	const name = adapter === undefined ? [] : [`Adapter: ${adapter ?? 'unknown'}.`];
	const rejected = tried.map(({ provider, error }) => `${provider} was not used: ${error.replace(/\.$/, '')}.`);
	// If a device was rejected for being too slow, that message already includes the times.
	if (measured.length === 0 || !measured.some(({ provider }) => provider === took && took !== 'cpu')) {
		return [...name, ...rejected];
	}
	const times = measured.map(
		({ provider, rows, tokens, ...times }) =>
			`Measured ${provider}: ${timingText(times)} for ${rows} completions of ${tokens} tokens.`,
	);
	return [...name, ...rejected, ...times];
}
