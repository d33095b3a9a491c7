import { noStep, type RolloutLine } from '../../protocol/rolloutLine.ts';
import { correctness } from '../reward/correctness.ts';

/** Selection criteria for exported rollouts. A rollout must satisfy all of them. */
export interface RolloutSelection {
	/** Inclusive step range. */
	readonly steps?: { readonly from?: number; readonly to?: number };
	/** Minimum reward, inclusive. Rollouts without a reward are excluded. */
	readonly minReward?: number;
	readonly maxReward?: number;
	/** Selects by the accuracy reward. Unjudged rollouts are excluded. */
	readonly correct?: boolean;
	readonly groups?: readonly { readonly step: number; readonly group: number }[];
	readonly rollouts?: readonly { readonly step: number; readonly group: number; readonly index: number }[];
	/** false selects finished rollouts only. Rollouts that do not record truncation are excluded. */
	readonly truncated?: boolean;
	/** Selects the n rollouts with the highest reward in each group. Ties go to the first. */
	readonly bestPerGroup?: number;
}

/** Returns whether a step can match a selection. An unknown step (null) is outside every range. */
export function selectsStep(step: number | null, { steps, groups, rollouts }: RolloutSelection): boolean {
	if (steps?.from !== undefined && (step === null || step < steps.from)) return false;
	if (steps?.to !== undefined && (step === null || step > steps.to)) return false;
	const place = step ?? noStep;
	if (groups !== undefined && !groups.some((one) => one.step === place)) return false;
	return rollouts === undefined || rollouts.some((one) => one.step === place);
}

/** Returns whether a selection includes a rollout, considering only its position. */
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

/** Compiles a selection into a predicate that uses set lookups. */
export function rolloutTest(selection: RolloutSelection): (line: RolloutLine) => string | null {
	const groups = selection.groups && new Set(selection.groups.map(({ step, group }) => `${step} ${group}`));
	const rollouts =
		selection.rollouts && new Set(selection.rollouts.map(({ step, group, index }) => `${step} ${group} ${index}`));
	const { minReward, maxReward } = selection;
	return (line) => {
		const { step, group, index, reward } = line;
		if (!selectsStep(step, { ...(selection.steps && { steps: selection.steps }) })) return 'from other steps';
		if (groups !== undefined && !groups.has(`${step ?? noStep} ${group}`)) return 'from other groups';
		if (rollouts !== undefined && !rollouts.has(`${step ?? noStep} ${group} ${index}`)) return 'not selected';
		if (minReward !== undefined || maxReward !== undefined) {
			if (reward === null || !Number.isFinite(reward)) return 'without a reward';
			if (minReward !== undefined && reward < minReward) return `with a reward below ${minReward}`;
			if (maxReward !== undefined && reward > maxReward) return `with a reward above ${maxReward}`;
		}
		if (selection.correct !== undefined) {
			const correct = correctness(line.rewards);
			if (correct === null) return 'that no reward marks as correct or incorrect';
			if (correct !== selection.correct) return correct ? 'that are correct' : 'that are incorrect';
		}
		if (selection.truncated !== undefined && line.truncated !== selection.truncated) {
			if (line.truncated === null) return 'that do not record truncation';
			return line.truncated ? 'that were truncated' : 'that were not truncated';
		}
		return null;
	};
}
