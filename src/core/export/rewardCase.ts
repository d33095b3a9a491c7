import { type RolloutLine, stepText } from '../../protocol/rolloutLine.ts';
import type { Expectation } from '../../protocol/verification.ts';
import { judgingReward } from '../reward/correctness.ts';
import { asTexts } from './textForms.ts';

/** A line in NAME.cases.jsonl, as read by verification (core/reward/verification/labeledCase.ts). */
export interface RewardCase {
	readonly name: string;
	readonly reward?: string;
	readonly prompt: string;
	readonly completion: string;
	readonly answer?: unknown;
	readonly row: Readonly<Record<string, unknown>>;
	/** Whether the completion was truncated: null if not recorded, absent if not truncated. */
	readonly truncated?: true | null;
	readonly expect: Expectation;
}

export interface RewardCaseOptions {
	/** Recorded reward that provides the expected value. Defaults to the correctness reward. */
	readonly reward?: string;
	/** Function name in the reward file. Defaults to the default function. */
	readonly of?: string;
}

/**
 * Converts a rollout to a case that expects the recorded value of a reward. Returns the reason if the rollout cannot be
 * converted.
 */
export function rewardCase(line: RolloutLine, { reward, of }: RewardCaseOptions = {}): RewardCase | string {
	const name = reward ?? judgingReward(line.rewards);
	if (name === null) return 'that no reward marks as correct or incorrect';
	if (!Object.hasOwn(line.rewards, name)) return `without the reward ${name}`;
	const errors = line.extra?.errors;
	if (typeof errors === 'object' && errors !== null && Object.hasOwn(errors, name))
		return 'for which the reward failed';
	const texts = asTexts(line);
	if (typeof texts === 'string') return texts;
	const { row } = line;
	return {
		name: `${stepText(line)}group ${line.group}, rollout ${line.index}`,
		...(of === undefined ? {} : { reward: of }),
		...texts,
		...(line.answer === undefined || line.answer === null ? {} : { answer: line.answer }),
		row: typeof row === 'object' && row !== null && !Array.isArray(row) ? (row as Record<string, unknown>) : {},
		...(line.truncated === false ? {} : { truncated: line.truncated }),
		expect: line.rewards[name] ?? null,
	};
}
