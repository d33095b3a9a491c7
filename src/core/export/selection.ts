import { noStep, type RolloutLine } from '../../protocol/rolloutLine.ts';
import { correctness } from '../reward/correctness.ts';

/** Criteria for exported rollouts; all given criteria must hold. */
export interface RolloutSelection {
	/** Inclusive. */
	readonly steps?: { readonly from?: number; readonly to?: number };
	/** Inclusive; rollouts without a reward are left out. */
	readonly minReward?: number;
	readonly maxReward?: number;
	/** By the accuracy reward; unjudged rollouts are left out. */
	readonly correct?: boolean;
	readonly groups?: readonly { readonly step: number; readonly group: number }[];
	readonly rollouts?: readonly { readonly step: number; readonly group: number; readonly index: number }[];
	/** false: only finished ones. Rollouts without a record of truncation are left out. */
	readonly truncated?: boolean;
	/** The best n of each group, by reward; ties go to the first. */
	readonly bestPerGroup?: number;
}

/** Whether a step can match a selection; an unknown step (null) is in no range. */
export function selectsStep(step: number | null, { steps, groups, rollouts }: RolloutSelection): boolean {
	if (steps?.from !== undefined && (step === null || step < steps.from)) return false;
	if (steps?.to !== undefined && (step === null || step > steps.to)) return false;
	const place = step ?? noStep;
	if (groups !== undefined && !groups.some((one) => one.step === place)) return false;
	return rollouts === undefined || rollouts.some((one) => one.step === place);
}

/** Whether a selection includes a rollout, judged by its position alone. */
export function selectsPlace(
	place: { readonly step: number; readonly group: number; readonly index: number },
	selection: RolloutSelection,
): boolean {
	const { groups, rollouts } = selection;
	const same = (one: { readonly step: number; readonly group: number }) =>
		one.step === place.step && one.group === place.group;
	return (
		selectsStep(place.step, selection) &&
		(groups === undefined || groups.some(same)) &&
		(rollouts === undefined || rollouts.some((one) => same(one) && one.index === place.index))
	);
}

/** Compiles a selection into a predicate with set lookups. */
export function rolloutTest(selection: RolloutSelection): (line: RolloutLine) => string | null {
	const groups = selection.groups && new Set(selection.groups.map(({ step, group }) => `${step} ${group}`));
	const rollouts =
		selection.rollouts && new Set(selection.rollouts.map(({ step, group, index }) => `${step} ${group} ${index}`));
	const { minReward, maxReward } = selection;
	return (line) => {
		const { step, group, index, reward } = line;
		if (!selectsStep(step, { ...(selection.steps && { steps: selection.steps }) })) return 'of other steps';
		if (groups !== undefined && !groups.has(`${step ?? noStep} ${group}`)) return 'of other groups';
		if (rollouts !== undefined && !rollouts.has(`${step ?? noStep} ${group} ${index}`)) return 'not selected';
		if (minReward !== undefined || maxReward !== undefined) {
			if (reward === null || !Number.isFinite(reward)) return 'without a reward';
			if (minReward !== undefined && reward < minReward) return `with a reward below ${minReward}`;
			if (maxReward !== undefined && reward > maxReward) return `with a reward above ${maxReward}`;
		}
		if (selection.correct !== undefined) {
			const correct = correctness(line.rewards);
			if (correct === null) return 'that no reward marks correct or wrong';
			if (correct !== selection.correct) return correct ? 'that are correct' : 'that are wrong';
		}
		if (selection.truncated !== undefined && line.truncated !== selection.truncated) {
			if (line.truncated === null) return 'without a record of truncation';
			return line.truncated ? 'that were truncated' : 'that were not truncated';
		}
		return null;
	};
}
