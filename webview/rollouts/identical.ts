import type { RolloutDetail } from '../../src/protocol/rolloutsMessages.ts';

/** Completions in a group with identical text, rewards and other recorded data. */
export interface Fold {
	/** First completion, which represents the fold. */
	readonly rollout: RolloutDetail;
	readonly others: readonly RolloutDetail[];
}

/**
 * Folds completions with identical content into the first one, preserving order. Completions that cannot be compared
 * are not folded: those whose text is not loaded or was not recorded, and conversations.
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

/** Fold state displayed on a card. */
export interface FoldMark {
	/** Number of completions in the fold, including this one. */
	readonly count: number;
	/** Index of the first completion in the fold. */
	readonly first: number;
	readonly expanded: boolean;
}

/** Returns the visible completions: the first one in each fold, or all of them if it is expanded. */
export function shownOfFolds(folds: readonly Fold[], expanded: ReadonlySet<number>): RolloutDetail[] {
	return folds.flatMap(({ rollout, others }) => (expanded.has(rollout.index) ? [rollout, ...others] : [rollout]));
}

/** Returns the fold that contains a completion; null if the completion is unique. */
export function foldOf(folds: readonly Fold[], index: number | null): Fold | null {
	return (
		folds.find(
			({ rollout, others }) =>
				others.length > 0 && (rollout.index === index || others.some((other) => other.index === index)),
		) ?? null
	);
}

const maxNamed = 8;

/** Formats names as "#2, #4 and #7"; a long list is shortened to the first few names and the number of others. */
export function namesOf(rollouts: readonly RolloutDetail[]): string {
	const names = rollouts.slice(0, maxNamed).map(({ index }) => `#${index}`);
	const more = rollouts.length - names.length;
	const last = more > 0 ? `${more} more` : names.pop();
	return names.length === 0 ? `${last}` : `${names.join(', ')} and ${last}`;
}
