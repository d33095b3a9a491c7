import type { Message, RolloutLine } from '../../protocol/rolloutLine.ts';
import { asMessages, asTexts, type TextForm } from './textForms.ts';

/** A line of preference data with explicit prompts, for TRL's DPOTrainer. */
export type PreferencePair =
	| { readonly prompt: string; readonly chosen: string; readonly rejected: string }
	| {
			readonly prompt: readonly Message[];
			readonly chosen: readonly Message[];
			readonly rejected: readonly Message[];
	  };

export interface PairingOptions {
	/** Max pairs per group; a rollout is in at most one of them. Default 1. */
	readonly perGroup?: number;
	/** Min reward difference of a pair; ties never form a pair. Default 0. */
	readonly margin?: number;
	/** Max ratio of the lengths of a pair, so that length does not reveal which one is better; absent: unlimited. */
	readonly lengthRatio?: number;
}

/** A rollout of a group, as input of pairing. */
export interface Candidate {
	readonly index: number;
	readonly reward: number;
	/**
	 * Advantage by which the trainer ranked the group, for totals inferred from records: takes precedence over the
	 * reward. null or absent: not recorded, or not needed.
	 */
	readonly advantage?: number | null;
	/** In any unit shared by all. */
	readonly length: number;
	/** Rollouts with the same text have the same key and are never paired. */
	readonly text: string;
}

export interface IndexPair {
	readonly chosen: number;
	readonly rejected: number;
}

export interface GroupPairs {
	readonly pairs: readonly IndexPair[];
	/** Number of pairs skipped because rewards and recorded advantages are in opposite order. */
	readonly contradicted: number;
}

/** Advantages are float32: totals that differ by rounding are not in opposite order. */
const rounding = 1e-6;

/** Best first: by recorded advantage if all have one, then by reward, then by position. */
export function ranked(candidates: readonly Candidate[]): Candidate[] {
	const credited = hasAdvantages(candidates);
	const rank = ({ advantage, reward }: Candidate) => (credited ? (advantage as number) : reward);
	return [...candidates].sort((a, b) => rank(b) - rank(a) || b.reward - a.reward || a.index - b.index);
}

function hasAdvantages(candidates: readonly Candidate[]): boolean {
	return candidates.every(({ advantage }) => typeof advantage === 'number' && Number.isFinite(advantage));
}

/**
 * Pairs of one group: the best with the worst, then the next best with the next worst, as long as their rewards differ
 * by the margin. With a length ratio, the best is paired with the worst of similar length. Recorded advantages take
 * precedence; a pair whose rewards contradict them is skipped, because one of the two is wrong.
 */
export function pairGroup(
	candidates: readonly Candidate[],
	{ perGroup = 1, margin = 0, lengthRatio }: PairingOptions = {},
): GroupPairs {
	const credited = hasAdvantages(candidates);
	const best = ranked(candidates);
	const used = new Set<Candidate>();
	const pairs: IndexPair[] = [];
	let contradicted = 0;
	for (const chosen of best) {
		if (pairs.length >= perGroup) break;
		if (used.has(chosen)) continue;
		for (const rejected of best.toReversed()) {
			if (rejected === chosen) break;
			if (used.has(rejected) || rejected.text === chosen.text) continue;
			if (lengthRatio !== undefined && !alike(chosen.length, rejected.length, lengthRatio)) continue;
			const difference = chosen.reward - rejected.reward;
			if (credited && disagree(chosen, rejected)) {
				contradicted++;
				continue;
			}
			if (!(difference > 0) || difference < margin) continue;
			used.add(chosen).add(rejected);
			pairs.push({ chosen: chosen.index, rejected: rejected.index });
			break;
		}
	}
	return { pairs, contradicted };
}

/**
 * Whether the rewards of two rollouts are in a different order than their advantages; the first one's advantage is not
 * the smaller.
 */
function disagree(chosen: Candidate, rejected: Candidate): boolean {
	const tolerance = rounding * Math.max(1, Math.abs(chosen.reward), Math.abs(rejected.reward));
	const difference = chosen.reward - rejected.reward;
	if (Math.abs(difference) <= tolerance) return false;
	return difference < 0 || chosen.advantage === rejected.advantage;
}

function alike(a: number, b: number, ratio: number): boolean {
	return Math.max(a, b) <= ratio * Math.max(1, Math.min(a, b));
}

/** Why a group forms no pair, for the summary. */
export function whyUnpaired(candidates: readonly Candidate[], options: PairingOptions, contradicted = 0): string {
	if (candidates.length < 2) return 'with fewer than two rewarded rollouts';
	if (contradicted > 0) return 'without a pair for which rewards and recorded advantages agree';
	const rewards = candidates.map(({ reward }) => reward);
	const spread = Math.max(...rewards) - Math.min(...rewards);
	if (!(spread > 0)) return 'whose rewards are all equal';
	if (spread < (options.margin ?? 0)) return 'whose rewards differ by less than the margin';
	return options.lengthRatio === undefined ? 'whose texts are all equal' : 'without two completions of similar length';
}

/** Returns the line of a pair, or why there is none. */
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
