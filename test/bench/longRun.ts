import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { Random } from '../../src/base/random.ts';
import { formatLine } from '../../src/files/jsonLines.ts';
import type { MetricsLine } from '../../src/protocol/metricsLine.ts';
import { runFiles } from '../../src/runs/runFiles.ts';
import { madeUpMetrics } from '../unit/webview/dashboard/dashboardFixture.ts';
import { runRecord } from '../unit/webview/rollouts/rolloutsFixture.ts';

export interface LongRun {
	readonly steps: number;
	/** Number of metrics per line, at least the 37 of a GRPO step. */
	readonly metrics: number;
}

/** Yields the lines of a GRPO run: the engine's own metrics plus other metrics with the full precision of a double. */
export function* longMetrics({ steps, metrics }: LongRun): Generator<MetricsLine> {
	const random = Random.of(7, 'long run');
	for (const line of madeUpMetrics({ sft: 0, grpo: steps, seed: 7, evaluateEvery: 500 })) {
		const values: Record<string, number | null> = { ...line.values };
		for (let i = 0; Object.keys(line.values).length + i < metrics; i++) {
			values[`layers/${i}/grad_norm`] = Math.exp(0.3 * random.normal()) / (i + 1);
		}
		yield { ...line, values };
	}
}

/** Writes such a run as finished. @returns size of its metrics in bytes */
export async function writeLongRun(run: string, options: LongRun): Promise<number> {
	await mkdir(run, { recursive: true });
	const file = join(run, runFiles.metrics);
	const out = createWriteStream(file);
	let portion: string[] = [];
	let last: MetricsLine | null = null;
	const flush = async () => {
		if (!out.write(portion.join(''))) await once(out, 'drain');
		portion = [];
	};
	for (const line of longMetrics(options)) {
		last = line;
		portion.push(formatLine({ step: line.step, time: line.time, stage: line.stage, ...line.values }));
		if (portion.length === 500) await flush();
	}
	await flush();
	out.end();
	await finished(out);
	const time = last?.time ?? 0;
	await writeFile(join(run, runFiles.events), formatLine({ time: 0, step: 0, type: 'stage', name: 'grpo', index: 0 }));
	const record = runRecord({
		name: 'long',
		status: 'finished',
		stage: 'grpo',
		step: options.steps,
		totalSteps: options.steps,
		updated: time,
		heartbeat: time,
	});
	await writeFile(join(run, runFiles.record), JSON.stringify(record));
	return (await stat(file)).size;
}
