import { Failure } from '../../../base/failure.ts';
import { type AdapterOptions, adapterOf } from './adapters.ts';
import { type ExportFinding, lintExport } from './exportLint.ts';
import { type ExportTarget, targetInfos } from './exportTarget.ts';
import type { FileFacts } from './rewardFacts.ts';

export interface RewardExport {
	/** The adapter: the reward file's own text and, below it, what the trainer calls. */
	readonly text: string;
	readonly findings: readonly ExportFinding[];
	/** How the trainer is told to use the adapter at a path. */
	readonly usage: (path: string) => string;
}

export interface ExportRequest extends AdapterOptions {
	readonly source: string;
	/** Name of the reward file, for the adapter's first line. */
	readonly file: string;
	readonly facts: FileFacts;
	/** Rewards to export, all of the file when empty. */
	readonly names: readonly string[];
}

/**
 * One Python reward file as a module of another trainer. The file's text is taken as it is, so the adapter needs nothing
 * beside it; the linter says what will not work there.
 * @throws `invalid` when the file has no such reward
 */
export function exportReward(target: ExportTarget, request: ExportRequest): RewardExport {
	const { facts, names, source, file } = request;
	const unknown = names.filter((name) => !facts.rewards.some((reward) => reward.name === name));
	if (facts.rewards.length === 0 || unknown.length > 0) {
		const known = facts.rewards.map(({ name }) => name).join(', ');
		throw new Failure(
			'invalid',
			unknown.length > 0
				? `${file} has no reward ${unknown.map((name) => `"${name}"`).join(', ')}.`
				: `${file} has no reward: no public function with a parameter "completions".`,
			known === '' ? undefined : `It has ${known}.`,
		);
	}
	const rewards = facts.rewards.filter(({ name }) => names.length === 0 || names.includes(name));
	const info = targetInfos[target];
	return {
		text:
			`# Generated from ${file} for ${info.title} by "reasoning-lab export-reward". Edit that file and export again.\n` +
			`${source.trimEnd()}\n\n\n${adapterOf(target, rewards, request)}`,
		findings: lintExport(target, facts, rewards),
		usage: (path) =>
			info.usage(
				path,
				rewards.map(({ name }) => name),
			),
	};
}
