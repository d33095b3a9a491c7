import { type AbortSignalLike, checkAborted } from '../../../base/async.ts';
import { Failure } from '../../../base/failure.ts';
import { problemKey } from '../../../core/evaluation/problemKey.ts';
import { correctness } from '../../../core/reward/correctness.ts';
import { messageText } from '../../../core/trace/messageText.ts';
import { promptHash } from '../../../core/trace/promptHash.ts';
import type { PromptSide, SharedPrompt } from '../../../protocol/runComparisonMessages.ts';
import type { RolloutSplit, RunContent } from '../../../runs/runContent.ts';
import { finite } from '../rollouts/rolloutText.ts';
import { noBounds, type ScanBounds, type ScanCount, scanRun } from '../rollouts/runScan.ts';

/** Limits for a partial scan, which takes a few seconds for eight runs. */
const firstLook: ScanBounds = { rollouts: 20_000, perStep: 4000 };
const limits = { prompts: 50_000, places: 500, listed: 1000, completions: 16, text: 20_000, prefix: 300 } as const;

/** Where a prompt occurs in a run. */
interface PromptPlace {
	readonly step: number;
	readonly split: RolloutSplit;
	readonly group: number;
}

interface KnownPrompt {
	/** Beginning of the prompt. */
	readonly prompt: string;
	/** Occurrences, indexed by run. */
	readonly places: PromptPlace[][];
}

type Known = Map<string, KnownPrompt>;

export interface PromptSearch {
	readonly prompts: SharedPrompt[];
	readonly seen: number[];
	readonly bounded: boolean;
	readonly canceled: boolean;
	readonly skipped: number;
}

/**
 * Finds prompts shared by several runs by scanning their rollouts, coarse to fine, one run at a time. Prompts are
 * matched by the text of the last user message, because trainers wrap it differently.
 */
export class SharedPrompts {
	readonly #open: (run: number) => Promise<RunContent>;
	readonly #runs: number;
	#known: Known = new Map();

	constructor(runs: number, open: (run: number) => Promise<RunContent>) {
		this.#runs = runs;
		this.#open = open;
	}

	/** Searches again. A canceled search keeps the prompts found so far. */
	async search(all: boolean, progress: (count: ScanCount) => void, signal: AbortSignalLike): Promise<PromptSearch> {
		// A superseded search may still be finishing, so use a separate map.
		const known: Known = new Map();
		this.#known = known;
		let full = false;
		const seen = new Array<number>(this.#runs).fill(0);
		const sum: ScanCount = { done: 0, total: 0, rollouts: 0, skipped: 0, bounded: false };
		let canceled = false;
		try {
			for (let run = 0; run < this.#runs; run++) {
				const content = await this.#open(run).catch(() => null);
				if (content === null) continue;
				for (const split of ['validation', 'train'] as const) {
					const before = { ...sum };
					const count: ScanCount = { done: 0, total: 0, rollouts: 0, skipped: 0, bounded: false };
					const report = () => {
						sum.done = before.done + count.done;
						sum.total = before.total + count.total;
						sum.rollouts = before.rollouts + count.rollouts;
						sum.skipped = before.skipped + count.skipped;
						sum.bounded = before.bounded || count.bounded;
						progress(sum);
					};
					const groups = new Set<number>();
					await scanRun(
						content,
						split,
						all ? noBounds : firstLook,
						null,
						(step, rollout) => {
							if (rollout === null) {
								groups.clear();
								report();
								return;
							}
							// All rollouts in a group have the same prompt.
							if (groups.has(rollout.group)) return;
							groups.add(rollout.group);
							const added = this.#add(known, run, rollout.prompt, { step, split, group: rollout.group });
							if (added === 'new') seen[run] = (seen[run] as number) + 1;
							full ||= added === 'full';
						},
						count,
						signal,
					);
					report();
				}
			}
		} catch (error) {
			if (Failure.from(error).reason !== 'cancelled') throw error;
			canceled = true;
		}
		return { prompts: shared(known), seen, bounded: sum.bounded || full, canceled, skipped: sum.skipped };
	}

	/** Returns the rollouts from each run for a prompt. Fails with `missing` if no search has found the prompt. */
	async show(
		hash: string,
		steps: readonly (number | null)[],
		signal?: AbortSignalLike,
	): Promise<{ prompt: string; sides: PromptSide[] }> {
		const known = this.#known.get(hash);
		if (known === undefined) {
			throw new Failure('missing', 'This prompt is not among the shared prompts.', 'Search for shared prompts again.');
		}
		const sides: PromptSide[] = [];
		let prompt = known.prompt;
		for (let run = 0; run < this.#runs; run++) {
			checkAborted(signal);
			const places = (known.places[run] ?? []).toSorted((a, b) => a.step - b.step);
			const place = places.find(({ step }) => step === steps[run]) ?? places.at(-1);
			const all = [...new Set(places.map(({ step }) => step))];
			if (place === undefined) {
				sides.push({ steps: [], shown: null });
				continue;
			}
			const { shown, text } = await this.#side(run, place, signal);
			if (text !== null) prompt = text;
			sides.push({ steps: all, shown });
		}
		return { prompt, sides };
	}

	async #side(
		run: number,
		{ step, split, group }: PromptPlace,
		signal?: AbortSignalLike,
	): Promise<{ shown: PromptSide['shown']; text: string | null }> {
		const opened = await (await this.#open(run)).open(step, split);
		const completions: NonNullable<PromptSide['shown']>['completions'] = [];
		let more = 0;
		let text: string | null = null;
		try {
			for await (const { rollout } of opened.rollouts(signal)) {
				if (rollout === null || rollout.group !== group) continue;
				text ??= messageText(rollout.prompt).slice(0, limits.text);
				if (completions.length >= limits.completions) {
					more++;
					continue;
				}
				const whole = messageText(rollout.completion);
				completions.push({
					index: rollout.index,
					reward: finite(rollout.reward),
					correct: correctness(rollout.rewards),
					truncated: rollout.truncated,
					text: whole.slice(0, limits.text),
					size: whole.length,
				});
			}
		} finally {
			await opened.close();
		}
		return { shown: { step, split, group, completions, more }, text };
	}

	/** @returns `new` if this is the run's first occurrence of the prompt, or `full` if no more prompts can be stored */
	#add(
		prompts: Known,
		run: number,
		prompt: Parameters<typeof problemKey>[0],
		place: PromptPlace,
	): 'new' | 'known' | 'full' {
		const key = problemKey(prompt);
		const hash = promptHash(key);
		let known = prompts.get(hash);
		if (known === undefined) {
			if (prompts.size >= limits.prompts) return 'full';
			known = { prompt: key.slice(0, limits.prefix), places: Array.from({ length: this.#runs }, () => []) };
			prompts.set(hash, known);
		}
		const places = known.places[run] as PromptPlace[];
		if (places.length < limits.places) places.push(place);
		return places.length === 1 ? 'new' : 'known';
	}
}

/** Returns the shared prompts, sorted by the number of runs, descending. */
function shared(known: Known): SharedPrompt[] {
	const found: SharedPrompt[] = [];
	for (const [hash, { prompt, places }] of known) {
		const groups = places.map((list) => list.length);
		if (groups.filter((count) => count > 0).length > 1) found.push({ hash, prompt, groups });
	}
	const runs = ({ groups }: SharedPrompt): number => groups.filter((count) => count > 0).length;
	return found.sort((a, b) => runs(b) - runs(a)).slice(0, limits.listed);
}
