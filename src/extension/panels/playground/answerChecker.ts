import { join } from 'node:path';
import { Disposable } from '../../../base/disposable.ts';
import { Failure } from '../../../base/failure.ts';
import { sideTags } from '../../../core/playground/exchangeText.ts';
import { decodeResolvedRecipe } from '../../../core/recipe/resolve.ts';
import type { TraceTags } from '../../../core/trace/trace.ts';
import type { AnswerCheck } from '../../../protocol/playgroundMessages.ts';
import { defaultsOf } from '../../../protocol/recipeKeys/keyDefaults.ts';
import { scoringSchema } from '../../../protocol/recipeKeys/scoringSettings.ts';
import type { ScoreRow } from '../../../protocol/scorer.ts';
import {
	createScorers,
	type RecipeScorers,
	type RunnerSource,
	type ScorerOptions,
} from '../../../rewards/createScorers.ts';
import { foreignCodeOf, usesOf } from '../../../runs/foreignCode.ts';
import { checkRewardCopies, rewardCopyPath } from '../../../runs/rewardCopies.ts';
import { runFiles } from '../../../runs/runFiles.ts';
import { readResolvedRecipe } from '../../../runs/runReader.ts';
import { runOf } from './describePolicy.ts';
import type { ToCheck } from './playgroundSession.ts';

export interface AnswerCheckerOptions {
	/** Creates scoring processes used only by this checker. Fails in an untrusted workspace. */
	readonly hosts: () => Promise<RunnerSource & { dispose(): void }>;
	/** Idle time before processes are terminated, in milliseconds; default one minute. */
	readonly idleMs?: number;
}

/**
 * Rewards that call other services. They are skipped because asking a question does not imply consent to their cost.
 */
const asksOthers: readonly string[] = ['judge'];
const idleMs = 60_000;
const notRun = 'Not run: you did not start this run on this machine.';

interface Opened {
	readonly scorers: RecipeScorers;
	/** Skipped rewards of the run. */
	readonly left: readonly string[];
}

/**
 * Checks answers against an expected answer, always by accuracy and, if the policy belongs to a run, also by the
 * rewards in the run's recipe (using the run's copies). Reward files and servers of runs that this user did not start
 * are not used.
 */
export class AnswerChecker extends Disposable {
	readonly #options: AnswerCheckerOptions;
	#hosts: ReturnType<AnswerCheckerOptions['hosts']> | null = null;
	readonly #opened = new Map<string, Promise<Opened>>();
	#users = 0;
	#timer: NodeJS.Timeout | undefined;

	constructor(options: AnswerCheckerOptions) {
		super();
		this.#options = options;
		this.register({ dispose: () => this.#end() });
	}

	async check({ side, expected, samples }: ToCheck, signal: AbortSignal): Promise<AnswerCheck[]> {
		clearTimeout(this.#timer);
		this.#users++;
		try {
			const { scorers, left } = await this.#open(side, samples[0]?.text ?? '');
			signal.throwIfAborted();
			const rows = samples.map(
				({ text, finish }): ScoreRow => ({
					prompt: side.prompt,
					completion: text,
					answer: expected,
					row: { answer: expected },
					truncated: finish === 'length' || finish === 'context' || finish === 'cut',
				}),
			);
			const all = [...scorers.scorers];
			const own = all.find(({ column }) => column.name === scorers.accuracy.column.name);
			const asked = own === undefined ? [scorers.accuracy, ...all] : all;
			const scored = await Promise.all(asked.map((scorer) => scorer.score(rows, { signal })));
			return rows.map((_, i) => {
				const rewards = asked.map(({ column }, k) => {
					const { values, errors } = scored[k] as (typeof scored)[number];
					const error = errors.find(({ index }) => index === i || index === -1);
					return {
						name: column.name.slice(0, 200),
						value: finite(values[i]),
						error: error === undefined ? null : error.message.slice(0, 1000),
					};
				});
				const accuracy = rewards[asked.indexOf(own ?? scorers.accuracy)];
				const value = accuracy?.value ?? null;
				for (const name of left) rewards.push({ name: name.slice(0, 200), value: null, error: notRun });
				return { correct: value === null ? null : value > 0.5, rewards };
			});
		} finally {
			this.#users--;
			if (this.#users === 0) {
				this.#timer = setTimeout(() => this.#end(), this.#options.idleMs ?? idleMs);
				this.#timer.unref();
			}
		}
	}

	async #open(side: ToCheck['side'], text: string): Promise<Opened> {
		const run = runOf(side.policy);
		const { think, answer } = sideTags(side, text);
		const key = run ?? JSON.stringify([think, answer]);
		const known = this.#opened.get(key);
		if (known !== undefined) return known;
		if (this.disposed) throw new Failure('cancelled', 'The playground was closed.');
		const made = this.#load(run, { think, answer });
		this.#opened.set(key, made);
		made.catch(() => this.#opened.delete(key));
		return made;
	}

	async #load(run: string | null, tags: TraceTags): Promise<Opened> {
		this.#hosts ??= this.#options.hosts();
		this.#hosts.catch(() => {
			this.#hosts = null;
		});
		const hosts = await this.#hosts;
		const { recipe, left } = run === null ? { recipe: null, left: [] } : await recipeOf(run);
		const scorers = await createScorers({
			recipe: recipe ?? withoutRecipe(tags),
			folder: run ?? process.cwd(),
			locate: (file) => (run === null || recipe === null ? file : rewardCopyPath(run, recipe, file)),
			hosts,
		});
		return { scorers, left };
	}

	#end(): void {
		clearTimeout(this.#timer);
		const [opened, hosts] = [[...this.#opened.values()], this.#hosts];
		this.#opened.clear();
		this.#hosts = null;
		for (const one of opened) {
			one.then(
				({ scorers }) => scorers.dispose(),
				() => undefined,
			);
		}
		hosts?.then(
			(own) => own.dispose(),
			() => undefined,
		);
	}
}

/** Returns the settings for a policy without a run: only the accuracy reward, with these tags. */
function withoutRecipe({ think, answer }: TraceTags): ScorerOptions['recipe'] {
	const pair = (of: TraceTags['think']): [string, string] | null => (of === null ? null : [...of]);
	return {
		rewards: [],
		template: { name: 'custom', prompt: '{prompt}', think: pair(think), answer: pair(answer) },
		dataset: { path: '/', prompt: 'prompt', answer: 'answer', solution: 'solution', heldOut: null, heldOutShare: 0 },
		scoring: defaultsOf(scoringSchema),
	};
}

/**
 * Returns the recipe of a run trained here, or null if there is no readable recipe, in which case only accuracy is
 * checked.
 */
async function recipeOf(run: string) {
	const value = await readResolvedRecipe(run).catch(() => null);
	if (value === null) return { recipe: null, left: [] };
	const recipe = decodeResolvedRecipe(value, join(run, runFiles.recipe));
	await checkRewardCopies(run, recipe);
	const foreign = (await foreignCodeOf(run, 'rewards')) !== null;
	const free = recipe.rewards.filter((reward) => !('use' in reward) || !asksOthers.includes(reward.use));
	const rewards = foreign ? free.filter((reward) => usesOf({ rewards: [reward] }).length === 0) : free;
	const left = free.filter((reward) => !rewards.includes(reward));
	return { recipe: { ...recipe, rewards }, left: left.map((one) => one.name ?? ('file' in one ? one.file : one.use)) };
}

const finite = (value: number | null | undefined) =>
	typeof value === 'number' && Number.isFinite(value) ? value : null;
