import { type RolloutLine, stepText } from '../../protocol/rolloutLine.ts';
import type { Expectation } from '../../protocol/verification.ts';
import { judgingReward } from '../reward/correctness.ts';
import { asTexts } from './textForms.ts';

/** A line of NAME.cases.jsonl, as verification reads it (core/reward/verification/labelledCase.ts). */
export interface RewardCase {
	readonly name: string;
	readonly reward?: string;
	readonly prompt: string;
	readonly completion: string;
	readonly answer?: unknown;
	readonly row: Readonly<Record<string, unknown>>;
	/** null: not recorded; absent: it came to its end. */
	readonly truncated?: true | null;
	readonly expect: Expectation;
}

export interface RewardCaseOptions {
	/** The recorded reward whose value is expected; absent: the one that judges the answer. */
	readonly reward?: string;
	/** Name of the function in the reward file that the case is about; absent: the file's own. */
	readonly of?: string;
}

/** What was recorded as what must be said: the value of one reward. Or why a rollout makes no case. */
export function rewardCase(line: RolloutLine, { reward, of }: RewardCaseOptions = {}): RewardCase | string {
	const name = reward ?? judgingReward(line.rewards);
	if (name === null) return 'that no reward marks correct or wrong';
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
