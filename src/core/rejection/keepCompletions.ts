import type { LanguageName } from '../../protocol/recipeKeys/builtInRewards.ts';
import { languageConsistencyReward } from '../reward/languageConsistencyReward.ts';
import { parseTrace } from '../trace/parseTrace.ts';
import type { TraceTags } from '../trace/trace.ts';

/** Determines which completions from a policy are kept as training data. */
export interface KeepSettings {
	/** Whether to keep only correct completions. */
	readonly correct: boolean;
	readonly minReward: number | null;
	/**
	 * Keeps only completions in which at least this fraction of the words in the thinking section are in the given
	 * language. Thinking sections without words pass.
	 */
	readonly language: { readonly language: LanguageName; readonly minShare: number } | null;
	/** Minimum number of completion tokens, including end-of-sequence. */
	readonly minTokens: number | null;
	readonly maxTokens: number | null;
	/** Maximum number of completions to keep per problem, highest reward first. null keeps all. */
	readonly perProblem: number | null;
	/** How to treat completions for the same problem that are identical except for whitespace. */
	readonly duplicates: 'drop' | 'keep';
}

/** Reasons for dropping a completion, in order of precedence. Only the first that applies is counted. */
export const dropReasons = [
	'truncated',
	'incorrect',
	'unrewarded',
	'language',
	'short',
	'long',
	'duplicate',
	'surplus',
] as const;
export type DropReason = (typeof dropReasons)[number];
export type DropCounts = Readonly<Record<DropReason, number>>;

export interface Candidate {
	readonly completion: string;
	readonly truncated: boolean;
	/** null if correctness cannot be judged. */
	readonly correct: boolean | null;
	readonly reward: number | null;
	/** Number of completion tokens, including end-of-sequence. */
	readonly length: number;
	readonly answer: string | null;
	readonly row: Readonly<Record<string, unknown>>;
}

export function noDrops(): Record<DropReason, number> {
	return Object.fromEntries(dropReasons.map((reason) => [reason, 0])) as Record<DropReason, number>;
}

/** Returns the reason a completion is dropped when considered individually, or null if it is kept. */
export function dropReason(candidate: Candidate, keep: KeepSettings, tags: TraceTags): DropReason | null {
	// Training on it would teach the model to stop midway.
	if (candidate.truncated) return 'truncated';
	if (keep.correct && candidate.correct !== true) return 'incorrect';
	const { reward, length } = candidate;
	if (keep.minReward !== null && (reward === null || reward < keep.minReward)) return 'unrewarded';
	if (keep.language !== null && languageShare(candidate, keep.language.language, tags) < keep.language.minShare) {
		return 'language';
	}
	// There is nothing to imitate in an empty completion, and stages that train on files reject it.
	if (candidate.completion === '' || (keep.minTokens !== null && length < keep.minTokens)) return 'short';
	if (keep.maxTokens !== null && length > keep.maxTokens) return 'long';
	return null;
}

function languageShare({ completion, answer, row }: Candidate, language: LanguageName, tags: TraceTags): number {
	const trace = parseTrace(completion, tags);
	const sample = { prompt: '', completion, answer, row, truncated: false, trace };
	return languageConsistencyReward(sample, { language }, tags) ?? 1;
}

export interface KeptLine {
	readonly prompt: string;
	readonly completion: string;
	readonly reward: number | null;
}

/**
 * Filters a stage's remaining completions, per problem: removes all duplicates but the first, then keeps the
 * completions with the highest rewards, preferring earlier ones on ties. Preserves the order.
 */
export function keepTogether<T extends KeptLine>(
	lines: readonly T[],
	keep: Pick<KeepSettings, 'perProblem' | 'duplicates'>,
): { readonly kept: readonly T[]; readonly dropped: Pick<DropCounts, 'duplicate' | 'surplus'> } {
	const said = new Set<string>();
	const different = lines.filter(({ prompt, completion }) => {
		if (keep.duplicates === 'keep') return true;
		const key = JSON.stringify([prompt, completion.normalize('NFC').trim().replace(/\s+/g, ' ')]);
		return !said.has(key) && said.add(key) !== undefined;
	});
	const byProblem = new Map<string, T[]>();
	for (const line of different) {
		const group = byProblem.get(line.prompt);
		if (group === undefined) byProblem.set(line.prompt, [line]);
		else group.push(line);
	}
	const chosen = new Set<T>();
	const worth = ({ reward }: T) => reward ?? Number.NEGATIVE_INFINITY;
	for (const group of byProblem.values()) {
		const best = [...group].sort((a, b) => (worth(a) === worth(b) ? 0 : worth(b) - worth(a)));
		for (const line of best.slice(0, keep.perProblem ?? best.length)) chosen.add(line);
	}
	const kept = different.filter((line) => chosen.has(line));
	return { kept, dropped: { duplicate: lines.length - different.length, surplus: different.length - kept.length } };
}

/**
 * Returns the number of rows from another file that make up `share` of the total when combined with `own` rows: n /
 * (own + n) = share.
 * @param share null for all rows
 */
export function extraRows(own: number, available: number, share: number | null): number {
	if (share === null) return available;
	return Math.min(available, Math.round((share / (1 - share)) * own));
}
