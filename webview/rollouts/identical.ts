import type { RolloutDetail } from '../../src/protocol/rolloutsMessages.ts';

/** Completions of a group that show the same text, rewards and facts. */
export interface Fold {
	/** The first of them, which stands for all. */
	readonly rollout: RolloutDetail;
	readonly others: readonly RolloutDetail[];
}

/**
 * Folds completions that a card would draw alike into the first of each, in the order given. What cannot be compared
 * stays apart: a text that is not loaded or was not recorded, and completions of several messages.
 */
export function foldIdentical(rollouts: readonly RolloutDetail[]): Fold[] {
	const folds = new Map<string, { rollout: RolloutDetail; others: RolloutDetail[] }>();
	for (const rollout of rollouts) {
		const { index, completion, reward, advantage, truncated, correct, rewards, tokens } = rollout;
		const comparable = completion !== null && rollout.textRecorded !== false && (rollout.turns ?? null) === null;
		const key = comparable
			? JSON.stringify([completion, reward, advantage, truncated, correct, rewards, tokens])
			: `#${index}`;
		const fold = folds.get(key);
		if (fold === undefined) folds.set(key, { rollout, others: [] });
		else fold.others.push(rollout);
	}
	return [...folds.values()];
}

/** How a card shows the fold that its completion is in. */
export interface FoldMark {
	/** Completions of the fold, this one included. */
	readonly count: number;
	/** Index of the completion that stands for all. */
	readonly first: number;
	readonly expanded: boolean;
}

/** The completions that are shown: of each fold the first, or all of them where it is expanded. */
export function shownOfFolds(folds: readonly Fold[], expanded: ReadonlySet<number>): RolloutDetail[] {
	return folds.flatMap(({ rollout, others }) => (expanded.has(rollout.index) ? [rollout, ...others] : [rollout]));
}

/** The fold of a completion; null: nothing is identical to it. */
export function foldOf(folds: readonly Fold[], index: number | null): Fold | null {
	return (
		folds.find(
			({ rollout, others }) =>
				others.length > 0 && (rollout.index === index || others.some((other) => other.index === index)),
		) ?? null
	);
}

const maxNamed = 8;

/** "#2, #4 and #7"; of many the first, and how many more. */
export function namesOf(rollouts: readonly RolloutDetail[]): string {
	const names = rollouts.slice(0, maxNamed).map(({ index }) => `#${index}`);
	const more = rollouts.length - names.length;
	const last = more > 0 ? `${more} more` : names.pop();
	return names.length === 0 ? `${last}` : `${names.join(', ')} and ${last}`;
}
