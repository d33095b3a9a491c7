import { Failure } from '../../../base/failure.ts';
import { type AdapterOptions, adapterOf } from './adapters.ts';
import { type ExportFinding, lintExport } from './exportLint.ts';
import { type ExportTarget, targetInfos } from './exportTarget.ts';
import type { FileFacts } from './rewardFacts.ts';

export interface RewardExport {
	/** Adapter code: the reward file's source followed by the trainer's entry points. */
	readonly text: string;
	readonly findings: readonly ExportFinding[];
	/** Returns instructions for using the adapter at a given path. */
	readonly usage: (path: string) => string;
}

export interface ExportRequest extends AdapterOptions {
	readonly source: string;
	/** Reward file name, shown in the first line of the adapter. */
	readonly file: string;
	readonly facts: FileFacts;
	/** Rewards to export; empty means all rewards in the file. */
	readonly names: readonly string[];
}

/**
 * Exports a Python reward file as a module for another trainer. The source is copied unchanged, so the adapter is
 * self-contained; lint findings list what does not work under that trainer.
 * @throws `invalid` if the file does not contain a requested reward
 */
export function exportReward(target: ExportTarget, request: ExportRequest): RewardExport {
	const { facts, names, source, file } = request;
	const unknown = names.filter((name) => !facts.rewards.some((reward) => reward.name === name));
	if (facts.rewards.length === 0 || unknown.length > 0) {
		const known = facts.rewards.map(({ name }) => name).join(', ');
		throw new Failure(
			'invalid',
			unknown.length > 0
				? `${file} does not define ${unknown.map((name) => `"${name}"`).join(', ')}.`
				: `${file} has no rewards: no public function has a "completions" parameter.`,
			known === '' ? undefined : `Available rewards: ${known}.`,
		);
	}
	const rewards = facts.rewards.filter(({ name }) => names.length === 0 || names.includes(name));
	const info = targetInfos[target];
	return {
		text:
			`# Generated from ${file} for ${info.title} by "reasoning-lab export-reward". Edit that file and export it again.\n` +
			`${source.trimEnd()}\n\n\n${adapterOf(target, rewards, request)}`,
		findings: lintExport(target, facts, rewards),
		usage: (path) =>
			info.usage(
				path,
				rewards.map(({ name }) => name),
			),
	};
}
