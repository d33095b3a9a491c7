import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { MetricsLine } from '../../../../src/protocol/metricsLine.ts';
import type { RolloutLine } from '../../../../src/protocol/rolloutLine.ts';
import type { AnyRunRecord } from '../../../../src/protocol/runRecord.ts';
import { openRun } from '../../../../src/runs/openRun.ts';
import type { RunContent, RunFault } from '../../../../src/runs/runContent.ts';
import { readAll } from './foreignFixtures.ts';

export type Files = Readonly<Record<string, string | Uint8Array | readonly unknown[] | object>>;

/** Encodes file content: text and bytes unchanged, a list as JSON Lines, an object as JSON. */
function contentOf(value: Files[string]): string | Uint8Array {
	if (typeof value === 'string' || value instanceof Uint8Array) return value;
	return Array.isArray(value) ? value.map((row) => `${JSON.stringify(row)}\n`).join('') : JSON.stringify(value);
}

export async function writeFiles(folder: string, files: Files): Promise<void> {
	for (const [name, content] of Object.entries(files)) {
		await mkdir(dirname(join(folder, name)), { recursive: true });
		await writeFile(join(folder, name), contentOf(content));
	}
}

export interface MadeRun {
	readonly run: RunContent;
	readonly record: AnyRunRecord;
	readonly train: readonly RolloutLine[];
	readonly validation: readonly RolloutLine[];
	readonly metrics: readonly MetricsLine[];
	readonly faults: readonly RunFault[];
}

/** Creates a run with these files and reads all of it. */
export async function madeRun(files: Files, format?: string): Promise<MadeRun> {
	const folder = await mkdtemp(join(tmpdir(), 'made-run-'));
	try {
		await writeFiles(folder, files);
		const run = await openRun(folder, format === undefined ? {} : { format });
		const lines = async (split: 'train' | 'validation') => (await readAll(run, split)).rollouts.map(({ line }) => line);
		const [train, validation] = [await lines('train'), await lines('validation')];
		const metrics: MetricsLine[] = [];
		for await (const portion of run.metrics()) metrics.push(...portion);
		return { run, record: await run.record(), train, validation, metrics, faults: run.faults };
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

/** Returns the group of each rollout. */
export const groupsIn = (lines: readonly RolloutLine[]) => lines.map(({ group }) => group);
