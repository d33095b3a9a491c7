import type { Message, RolloutLine } from '../../protocol/rolloutLine.ts';
import { asMessages, asTexts, type TextForm } from './textForms.ts';

/** A line of preference data with explicit prompts, as TRL's DPOTrainer takes it. */
export type PreferencePair =
	| { readonly prompt: string; readonly chosen: string; readonly rejected: string }
	| {
			readonly prompt: readonly Message[];
			readonly chosen: readonly Message[];
			readonly rejected: readonly Message[];
	  };

export interface PairingOptions {
	/** Pairs of one group at most; a rollout is in one of them. Default 1. */
	readonly perGroup?: number;
	/** The rewards of a pair differ by at least this; ties never make a pair. Default 0. */
	readonly margin?: number;
	/**
	 * The longer completion of a pair is at most so many times as long as the other one, so that length does not tell which
	 * is better; absent: any.
	 */
	readonly lengthRatio?: number;
}

/** A rollout of a group as pairing sees it. */
export interface Candidate {
	readonly index: number;
	readonly reward: number;
	/** In whatever unit, the same for all. */
	readonly length: number;
	/** Rollouts of one text have one key: they make no pair with each other. */
	readonly text: string;
}

export interface IndexPair {
	readonly chosen: number;
	readonly rejected: number;
}

/**
 * Pairs of one group: the best with the worst, then the next best with the next worst, as long as their rewards differ by
 * the margin. With a length ratio the best takes the worst that is about as long.
 */
export function pairGroup(
	candidates: readonly Candidate[],
	{ perGroup = 1, margin = 0, lengthRatio }: PairingOptions = {},
): IndexPair[] {
	const best = [...candidates].sort((a, b) => b.reward - a.reward || a.index - b.index);
	const used = new Set<Candidate>();
	const pairs: IndexPair[] = [];
	for (const chosen of best) {
		if (pairs.length >= perGroup) break;
		if (used.has(chosen)) continue;
		for (let i = best.length - 1; i >= 0; i--) {
			const rejected = best[i] as Candidate;
			const difference = chosen.reward - rejected.reward;
			if (!(difference > 0) || difference < margin) break;
			if (used.has(rejected) || rejected.text === chosen.text) continue;
			if (lengthRatio !== undefined && !alike(chosen.length, rejected.length, lengthRatio)) continue;
			used.add(chosen).add(rejected);
			pairs.push({ chosen: chosen.index, rejected: rejected.index });
			break;
		}
	}
	return pairs;
}

function alike(a: number, b: number, ratio: number): boolean {
	return Math.max(a, b) <= ratio * Math.max(1, Math.min(a, b));
}

/** Why a group makes no pair, for the summary. */
export function whyUnpaired(candidates: readonly Candidate[], options: PairingOptions): string {
	if (candidates.length < 2) return 'with fewer than two rewarded rollouts';
	const rewards = candidates.map(({ reward }) => reward);
	const spread = Math.max(...rewards) - Math.min(...rewards);
	if (!(spread > 0)) return 'whose rewards are all equal';
	if (spread < (options.margin ?? 0)) return 'whose rewards differ by less than the margin';
	return options.lengthRatio === undefined
		? 'whose texts are all equal'
		: 'without two completions of about one length';
}

/** The line of a pair, or why it makes none. */
export function preferencePair(chosen: RolloutLine, rejected: RolloutLine, form: TextForm): PreferencePair | string {
	if (form === 'standard') {
		const [better, worse] = [asTexts(chosen), asTexts(rejected)];
		if (typeof better === 'string') return better;
		if (typeof worse === 'string') return worse;
		return { prompt: better.prompt, chosen: better.completion, rejected: worse.completion };
	}
	const [better, worse] = [asMessages(chosen), asMessages(rejected)];
	if (typeof better === 'string') return better;
	if (typeof worse === 'string') return worse;
	return { prompt: better.prompt, chosen: better.completion, rejected: worse.completion };
}
