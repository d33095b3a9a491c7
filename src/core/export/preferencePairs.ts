import type { Message, RolloutLine } from '../../protocol/rolloutLine.ts';
import { asMessages, asTexts, type TextForm } from './textForms.ts';

/** A line of preference data with an explicit prompt, for TRL's DPOTrainer. */
export type PreferencePair =
	| { readonly prompt: string; readonly chosen: string; readonly rejected: string }
	| {
			readonly prompt: readonly Message[];
			readonly chosen: readonly Message[];
			readonly rejected: readonly Message[];
	  };

export interface PairingOptions {
	/** Maximum number of pairs per group. Each rollout is used in at most one pair. Defaults to 1. */
	readonly perGroup?: number;
	/** Minimum reward difference within a pair; ties are never paired. Defaults to 0. */
	readonly margin?: number;
	/**
	 * Maximum length ratio within a pair, so that length alone does not reveal the better completion. Unlimited if
	 * absent.
	 */
	readonly lengthRatio?: number;
}

/** A group's rollout as a candidate for pairing. */
export interface Candidate {
	readonly index: number;
	readonly reward: number;
	/**
	 * Advantage that the trainer used to rank the group; takes precedence over the reward. Set for totals inferred from
	 * records. null or absent if not recorded or not needed.
	 */
	readonly advantage?: number | null;
	/** Length in any unit, as long as it is the same for all candidates. */
	readonly length: number;
	/** Key of the rollout's text. Rollouts with the same key are never paired. */
	readonly text: string;
}

export interface IndexPair {
	readonly chosen: number;
	readonly rejected: number;
}

export interface GroupPairs {
	readonly pairs: readonly IndexPair[];
	/** Number of pairs skipped because their rewards and recorded advantages disagree about the order. */
	readonly contradicted: number;
}

/** Advantages are float32, so totals that differ only by rounding are not considered contradictory. */
const rounding = 1e-6;

/** Sorts candidates best first: by recorded advantage if all have one, then by reward, then by position. */
export function ranked(candidates: readonly Candidate[]): Candidate[] {
	const credited = hasAdvantages(candidates);
	const rank = ({ advantage, reward }: Candidate) => (credited ? (advantage as number) : reward);
	return [...candidates].sort((a, b) => rank(b) - rank(a) || b.reward - a.reward || a.index - b.index);
}

function hasAdvantages(candidates: readonly Candidate[]): boolean {
	return candidates.every(({ advantage }) => typeof advantage === 'number' && Number.isFinite(advantage));
}

/**
 * Pairs the rollouts of a group: best with worst, then second best with second worst, and so on while their rewards
 * differ by at least the margin. If a length ratio is set, the best rollout is paired with the worst one of similar
 * length. Recorded advantages take precedence over rewards. A pair whose rewards contradict its advantages is skipped,
 * because one of the two must be wrong.
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
 * Returns whether two rollouts are ordered differently by reward than by advantage. The first one must not have the
 * smaller advantage.
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

/** Returns the reason why a group has no pair, for the summary. */
export function whyUnpaired(candidates: readonly Candidate[], options: PairingOptions, contradicted = 0): string {
	if (candidates.length < 2) return 'with fewer than two rewarded rollouts';
	if (contradicted > 0) return 'without a pair whose rewards and recorded advantages agree';
	const rewards = candidates.map(({ reward }) => reward);
	const spread = Math.max(...rewards) - Math.min(...rewards);
	if (!(spread > 0)) return 'with identical rewards';
	if (spread < (options.margin ?? 0)) return 'whose rewards differ by less than the margin';
	return options.lengthRatio === undefined ? 'with identical completions' : 'without two completions of similar length';
}

/** Returns the data line for a pair, or the reason why there is none. */
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
