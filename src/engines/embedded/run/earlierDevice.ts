import * as v from 'valibot';
import type { BatchUse } from '../../../core/memory/microBatchLimits.ts';
import type { EventLine } from '../../../protocol/eventLine.ts';
import { type ProviderName, runtimeNames } from '../compute/providers.ts';
import type { ReducedRows } from '../createLearner.ts';

/** Device that earlier attempts of a run used. Rounding depends on it, so a resumed run keeps the device if it can. */
export interface EarlierDevice {
	/** Device of the last attempt; null if none was recorded. */
	readonly provider: ProviderName | null;
	/**
	 * GPU memory, in bytes, from which micro-batch sizes were derived; null if it was unknown, undefined if no attempt
	 * used a GPU or recorded its memory.
	 */
	readonly memory: number | null | undefined;
	/** Rows per micro-batch, if reduced because GPU memory was full. */
	readonly reducedRows: ReducedRows;
}

const memorySchema = v.nullable(v.pipe(v.number(), v.safeInteger(), v.minValue(1)));

const reducedSchema = v.looseObject({
	type: v.literal('alert'),
	use: v.picklist(['sample', 'train']),
	rows: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
});

function reducedRowsOf(events: readonly EventLine[]): ReducedRows {
	const rows: Partial<Record<BatchUse, number>> = {};
	for (const event of events) {
		const reduced = v.safeParse(reducedSchema, event);
		if (!reduced.success) continue;
		const { use, rows: count } = reduced.output;
		rows[use] = Math.min(count, rows[use] ?? count);
	}
	return rows;
}

const isProvider = (name: unknown): name is ProviderName =>
	typeof name === 'string' && Object.hasOwn(runtimeNames, name);

export function earlierDevice(events: readonly EventLine[]): EarlierDevice {
	const devices = events.filter(({ type, took }) => type === 'device' && isProvider(took));
	const onGpu = devices.findLast(({ took }) => took !== 'cpu');
	const memory = v.safeParse(memorySchema, onGpu?.memory);
	return {
		provider: (devices.at(-1)?.took as ProviderName | undefined) ?? null,
		memory: memory.success ? memory.output : undefined,
		reducedRows: reducedRowsOf(events),
	};
}
