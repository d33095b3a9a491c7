import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Failure } from '../base/failure.ts';
import type { AdapterOptions } from '../core/reward/export/adapters.ts';
import { exportReward, type RewardExport } from '../core/reward/export/exportReward.ts';
import type { ExportTarget } from '../core/reward/export/exportTarget.ts';
import { writeFileAtomic } from '../files/atomicFile.ts';
import { readNamed } from '../files/safeFile.ts';
import { readRewardFacts } from './readRewardFacts.ts';

export interface ExportFileRequest extends Partial<AdapterOptions> {
	/** Absolute path to the reward file. */
	readonly file: string;
	readonly target: ExportTarget;
	/** Names of the rewards to export. Exports all of them if empty or omitted. */
	readonly names?: readonly string[];
	readonly python: string;
	/** Folder that contains the host programs. */
	readonly folder: string;
	readonly signal?: AbortSignal;
}

const largest = 4 << 20;
const defaults: AdapterOptions = {
	weights: {},
	answer: 'answer',
	think: ['<think>', '</think>'],
	conversational: false,
};

/**
 * Returns the adapter's path, using a name that Python can import: "rewards/brevity.reward.py" ->
 * "rewards/brevity_verl.py".
 */
export function adapterPath(file: string, target: ExportTarget): string {
	const stem = basename(file)
		.replace(/(?:\.reward)?\.py$/, '')
		.replace(/\W+/g, '_');
	return join(dirname(file), `${/^\d/.test(stem) ? '_' : ''}${stem}_${target}.py`);
}

/**
 * Generates the adapter for a Python reward file without writing it. Fails with `unsupported` for rewards in other
 * languages.
 */
export async function exportRewardFile(request: ExportFileRequest): Promise<RewardExport> {
	const { file, target } = request;
	if (!file.endsWith('.py')) {
		throw new Failure(
			'unsupported',
			`${file} is not a Python file, but other trainers require rewards in Python.`,
			'Rewrite the reward in Python. Its scores in Reasoning Lab will not change.',
		);
	}
	if (
		(
			await stat(file).catch((error: unknown) => {
				throw Failure.from(error, `Cannot read ${file}`);
			})
		).size > largest
	) {
		throw new Failure('invalid', `${file} is larger than ${largest} bytes.`);
	}
	const facts = await readRewardFacts(file, request.python, request.folder, request.signal);
	const source = (await readNamed(file, { largest })).toString('utf8');
	const { weights, answer, think, conversational } = { ...defaults, ...request };
	if (!/^[A-Za-z_]\w*$/.test(answer)) {
		throw new Failure('invalid', `"${answer}" is not a valid parameter name.`, 'Rename the answer column.');
	}
	const names = request.names ?? [];
	return exportReward(target, { source, file: basename(file), facts, names, weights, answer, think, conversational });
}

/** Writes an adapter. Overwrites only an earlier adapter, and fails with `exists` for any other file. */
export async function writeAdapter(path: string, text: string): Promise<void> {
	const old = await readNamed(path).catch((error: unknown) => {
		if (Failure.from(error).reason === 'missing') return null;
		throw Failure.from(error, `Cannot write ${path}`);
	});
	if (old !== null && !/^# (?:Generated|Made) from .* by "reasoning-lab export-reward"/.test(old.toString('utf8'))) {
		throw new Failure('exists', `${path} already exists and is not an adapter.`, 'Choose a different file.');
	}
	await writeFileAtomic(path, text);
}
