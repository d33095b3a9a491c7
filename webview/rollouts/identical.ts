import type { RolloutDetail } from '../../src/protocol/rolloutsMessages.ts';

/** Completions of a group with the same text, rewards and facts. */
export interface Fold {
	/** The first of them, which represents all. */
	readonly rollout: RolloutDetail;
	readonly others: readonly RolloutDetail[];
}

/**
 * Folds completions that look the same into the first of them, in the given order. Completions that cannot be compared
 * are not folded: unloaded or unrecorded texts, and conversations.
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

/** How a card shows its fold. */
export interface FoldMark {
	/** Size of the fold, including this completion. */
	readonly count: number;
	/** Index of the representative. */
	readonly first: number;
	readonly expanded: boolean;
}

/** Visible completions: the first of each fold, or all of an expanded one. */
export function shownOfFolds(folds: readonly Fold[], expanded: ReadonlySet<number>): RolloutDetail[] {
	return folds.flatMap(({ rollout, others }) => (expanded.has(rollout.index) ? [rollout, ...others] : [rollout]));
}

/** The fold of a completion; null: it is unique. */
export function foldOf(folds: readonly Fold[], index: number | null): Fold | null {
	return (
		folds.find(
			({ rollout, others }) =>
				others.length > 0 && (rollout.index === index || others.some((other) => other.index === index)),
		) ?? null
	);
}

const maxNamed = 8;

/** "#2, #4 and #7"; of many, the first few and the number of others. */
export function namesOf(rollouts: readonly RolloutDetail[]): string {
	const names = rollouts.slice(0, maxNamed).map(({ index }) => `#${index}`);
	const more = rollouts.length - names.length;
	const last = more > 0 ? `${more} more` : names.pop();
	return names.length === 0 ? `${last}` : `${names.join(', ')} and ${last}`;
}
