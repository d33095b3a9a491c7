import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { listCheckpoints, readMetrics } from '../../../../src/runs/runReader.ts';

/** Everything that a repeated run must reproduce exactly. Times are not included. */
export interface RunOutcome {
	readonly metrics: readonly string[];
	/** Hashes by file name. */
	readonly rollouts: Readonly<Record<string, string>>;
	readonly evaluations: Readonly<Record<string, string>>;
	/** Weight hash of the last checkpoint. */
	readonly weights: string;
	readonly optimizer: string;
	/** Head hashes, '' for missing heads. */
	readonly heads: readonly string[];
	readonly checkpoints: readonly number[];
}

/** Times, memory, and counts that depend on the attempts: a resumed attempt uploads the weights again. */
const isTime = (name: string) =>
	/^(step_time$|time\/|throughput\/|environment\/seconds$|gpu\/(bytes_|dispatches|0\/memory_))/.test(name);

const hashOf = (content: Buffer) => createHash('sha256').update(content).digest('hex');

/** Rollouts of episodes contain the time in the environment. */
const withoutTimes = (content: Buffer) => Buffer.from(content.toString('utf8').replaceAll(/"seconds":[\d.e-]+/g, ''));

async function hashes(folder: string, deep = false): Promise<Record<string, string>> {
	const files: Record<string, string> = {};
	for (const entry of (await readdir(folder, { withFileTypes: true }).catch(() => [])).sort((a, b) =>
		a.name < b.name ? -1 : 1,
	)) {
		if (entry.isFile()) files[entry.name] = hashOf(withoutTimes(await readFile(join(folder, entry.name))));
		else if (deep) {
			for (const [name, hash] of Object.entries(await hashes(join(folder, entry.name)))) {
				files[`${entry.name}/${name}`] = hash;
			}
		}
	}
	return files;
}

export async function readOutcome(run: string): Promise<RunOutcome> {
	const checkpoints = await listCheckpoints(run);
	const last = checkpoints.at(-1);
	const hashInLast = async (name: string) => (last ? hashOf(await readFile(join(last.path, name))) : '');
	const headInLast = (name: string) => hashInLast(name).catch(() => '');
	return {
		metrics: (await readMetrics(run)).map(({ step, stage, values }) => {
			const kept = Object.entries(values).filter(([name]) => !isTime(name));
			return JSON.stringify({ step, stage, ...Object.fromEntries(kept) });
		}),
		rollouts: await hashes(join(run, 'rollouts')),
		evaluations: await hashes(join(run, 'evaluations'), true),
		weights: await hashInLast('model.safetensors'),
		optimizer: await hashInLast('optimizer.safetensors').catch(() => hashInLast('trainer/optimizer.pt')),
		heads: await Promise.all(
			['value', 'process', 'reward', 'critic', 'head_optimizer'].map((name) => headInLast(`${name}.safetensors`)),
		),
		checkpoints: checkpoints.map(({ step }) => step),
	};
}
