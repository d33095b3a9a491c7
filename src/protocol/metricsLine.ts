import * as v from 'valibot';

/**
 * One line of metrics.jsonl. Every key but `step`, `time` and `stage` is a scalar; null means: no valid sample.
 * Names: src/core/metrics.
 */
export const metricsLineSchema = v.pipe(
	v.looseObject({ step: v.number(), time: v.number(), stage: v.string() }),
	v.transform((line) => {
		const values: Record<string, number | null> = {};
		for (const [key, value] of Object.entries(line)) {
			if (key === 'step' || key === 'time' || key === 'stage') continue;
			if (value === null || (typeof value === 'number' && Number.isFinite(value))) values[key] = value as number | null;
		}
		return { step: line.step, time: line.time, stage: line.stage, values };
	}),
);
export interface MetricsLine {
	readonly step: number;
	/** Seconds since the epoch. */
	readonly time: number;
	readonly stage: string;
	readonly values: Readonly<Record<string, number | null>>;
}
