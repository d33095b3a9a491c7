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

/** The event `device`: what an engine computes on, and why not on others. */
const deviceEventSchema = v.looseObject({
	took: v.string(),
	tried: v.optional(v.array(v.looseObject({ provider: v.string(), error: v.string() })), []),
	measured: v.optional(v.array(timingSchema), []),
});

/** Sentences about the devices that were tried and not used, and about what was measured; none if it was not asked. */
export function deviceNotes(event: EventLine): string[] {
	const decoded = decode(deviceEventSchema, event);
	if (!decoded.ok) return [];
	const { took, tried, measured } = decoded.value;
	const rejected = tried.map(({ provider, error }) => `${provider} was not used: ${error}.`);
	// A rejection because of the time has its figures.
	if (measured.length === 0 || !measured.some(({ provider }) => provider === took && took !== 'cpu')) return rejected;
	const times = measured.map(
		({ provider, rows, tokens, samplingMs, updateMs }) =>
			`Measured ${provider}: sampling ${Math.round(samplingMs)} ms and update ${Math.round(updateMs)} ms for ${rows} completions of ${tokens} tokens.`,
	);
	return [...rejected, ...times];
}
