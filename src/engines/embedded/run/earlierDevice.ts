import * as v from 'valibot';
import type { EventLine } from '../../../protocol/eventLine.ts';
import { type ProviderName, runtimeNames } from '../compute/providers.ts';

/** What earlier attempts of a run computed on. Rounding depends on it, so a resumed run keeps it if it can. */
export interface EarlierDevice {
	/** Device of the last attempt; null if none was recorded. */
	readonly provider: ProviderName | null;
	/**
	 * Memory of the GPU, in bytes, that sizes of micro-batches were derived from: null if it was unknown, and undefined if no
	 * attempt used a GPU or recorded it.
	 */
	readonly memory: number | null | undefined;
}

const memorySchema = v.nullable(v.pipe(v.number(), v.safeInteger(), v.minValue(1)));

const isProvider = (name: unknown): name is ProviderName =>
	typeof name === 'string' && Object.hasOwn(runtimeNames, name);

export function earlierDevice(events: readonly EventLine[]): EarlierDevice {
	const devices = events.filter(({ type, took }) => type === 'device' && isProvider(took));
	const onGpu = devices.findLast(({ took }) => took !== 'cpu');
	const memory = v.safeParse(memorySchema, onGpu?.memory);
	return {
		provider: (devices.at(-1)?.took as ProviderName | undefined) ?? null,
		memory: memory.success ? memory.output : undefined,
	};
}
