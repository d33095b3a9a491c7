import { randomBytes } from 'node:crypto';
import { basename, dirname, isAbsolute, join, normalize } from 'node:path';
import * as v from 'valibot';
import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { Failure } from '../../base/failure.ts';
import type { ScorerScope } from '../../core/search/scorer.ts';
import { episodeStrategies, strategies, strategyParams } from '../../core/search/strategies.ts';
import { needsOf } from '../../core/search/strategy.ts';
import { requireInside } from '../../files/ownFolder.ts';
import { decodeOrThrow } from '../../protocol/decode.ts';
import type { PolicySpec } from '../../protocol/policySpec.ts';
import type { ScorerSpec, SearchEnvironment } from '../../protocol/searchSpec.ts';
import {
	type ComparisonSpec,
	type ComparisonSpecInput,
	comparisonSpecSchema,
} from '../../protocol/strategyComparison.ts';
import { comparisonsIn, readComparison } from '../../runs/comparisonFolder.ts';
import { viewIds } from '../ids.ts';
import type { Notices } from '../notices.ts';
import type { StrategiesActions } from '../panels/strategies/strategiesPanel.ts';
import type { PolicyWorkbench } from '../policies/policyWorkbench.ts';
import { withProgress } from '../progress.ts';
import { showQuickPick } from '../quickInput.ts';
import type { RewardFileList } from '../rewards/rewardFileList.ts';
import type { RunStore } from '../runStore.ts';
import { displayText, isForeign } from '../runView.ts';
import type { AgreedSearches } from './agreedSearches.ts';
import { askComparedProblems, type ChosenProblems } from './comparedProblemsQuestion.ts';
import { askPolicy } from './policyQuestion.ts';
import { askChoice, askText, type NoAnswer } from './questions.ts';
import { askScorer } from './scorerQuestion.ts';
import type { SearchEnvironments } from './searchEnvironments.ts';
import type { WindowSearches } from './windowSearches.ts';

export interface ComparisonCommandNeeds {
	readonly searches: WindowSearches;
	readonly store: RunStore;
	readonly files: RewardFileList;
	readonly notices: Notices;
	readonly policies: () => Promise<PolicyWorkbench>;
	readonly openPanel: (folder: string) => unknown;
	readonly episodes: SearchEnvironments;
	readonly agreed: AgreedSearches;
}

/** Schema for the argument of a programmatic call. */
const presetSchema = v.object({
	spec: v.optional(comparisonSpecSchema),
	/** Output folder of a new comparison, or folder of a comparison to open. */
	folder: v.optional(v.string()),
});

const lookedAt = [1, 4, 16] as const;

/** Implements *Compare Strategies...* and the actions of comparison panels. */
export class ComparisonCommand extends Disposable {
	readonly #needs: ComparisonCommandNeeds;
	readonly #changed = this.register(new Emitter<void>());

	constructor(needs: ComparisonCommandNeeds) {
		super();
		this.#needs = needs;
		this.register(
			needs.searches.onCompared(({ folder, failure }) => {
				this.#changed.fire();
				if (failure === null) return;
				const words = `The comparison ${displayText(basename(folder), 80)} failed: ${displayText(failure, 400)}`;
				void needs.notices.warning(words, [{ title: 'Open Comparison', run: () => needs.openPanel(folder) }]);
			}),
		);
	}

	get actions(): StrategiesActions {
		const { searches } = this.#needs;
		return {
			running: (folder) => searches.comparing.has(folder),
			forbidden: () => searches.forbidden(),
			onChanged: this.#changed.event,
			goOn: async (folder) => {
				const known = await readComparison(folder);
				if (known === null) throw new Failure('missing', `${folder} does not contain a comparison.`);
				if (await this.#needs.agreed.comparison(folder, known)) await this.#begin(known.spec, folder);
			},
			stop: async (folder) => {
				await searches.request('stopComparing', { folder });
			},
		};
	}

	/** Starts or opens a comparison: `{spec, folder?}`, `{folder}`, or the user's choice. Resolves to its folder. */
	async run(argument?: unknown): Promise<string | undefined> {
		const given = argument === undefined ? {} : decodeOrThrow(presetSchema, argument, 'The comparison argument');
		if (given.folder !== undefined && !isAbsolute(given.folder)) {
			throw new Failure('invalid', `${given.folder} is not an absolute path.`);
		}
		if (given.spec === undefined && given.folder !== undefined) return this.#open(given.folder);
		if (given.spec !== undefined) return this.#start(given.spec as ComparisonSpec, given.folder);
		const known = await this.#known();
		const first = await askChoice<string | 'new' | 'other'>({ title: 'Compare Strategies', step: 1, steps: 1 }, [
			{
				label: '$(add) New comparison...',
				description: 'compares strategies at several budgets on a set of problems',
				value: 'new',
			},
			...known.map((folder) => ({ label: `$(graph-scatter) ${displayText(basename(folder), 80)}`, value: folder })),
			{ label: '$(folder-opened) Another comparison...', description: 'created from the command line', value: 'other' },
		]);
		if (first === 'back' || first === 'cancel') return undefined;
		if (first.value === 'other') {
			const chosen = await vscode.window.showOpenDialog({
				title: 'Select a comparison folder',
				canSelectFolders: true,
				canSelectFiles: false,
			});
			const folder = chosen?.[0]?.fsPath;
			return folder === undefined ? undefined : this.#open(folder);
		}
		if (first.value !== 'new') return this.#open(first.value);
		const spec = await this.#ask();
		return spec === null ? undefined : this.#start(spec, undefined);
	}

	async #open(folder: string): Promise<string> {
		if ((await readComparison(folder)) === null) {
			throw new Failure(
				'invalid',
				`${folder} does not contain a comparison.`,
				'Choose a folder that contains comparison.json.',
			);
		}
		await this.#needs.openPanel(normalize(folder));
		return folder;
	}

	async #start(spec: ComparisonSpec, given: string | undefined): Promise<string> {
		const folder = normalize(given ?? join(await this.#home(spec.policy), newName(new Date())));
		await this.#begin(spec, folder);
		await this.#needs.openPanel(folder);
		return folder;
	}

	/**
	 * Starts or continues a comparison, and asks for consent before running an environment that the user did not
	 * choose.
	 */
	async #begin(spec: ComparisonSpec, folder: string): Promise<void> {
		if (spec.environment !== undefined) await this.#needs.episodes.require(spec.environment, spec.policy);
		const words = {
			title: `Comparing strategies: ${displayText(basename(folder), 60)}`,
			why: 'Loading the policy...',
			view: viewIds.searches,
		};
		await withProgress(words, (signal) => this.#needs.searches.compare(spec, folder, signal));
	}

	/** Returns the folder for comparisons with a policy, next to its searches. */
	async #home(policy: PolicySpec): Promise<string> {
		return requireInside(dirname(await this.#needs.searches.folderFor(policy)), 'comparisons');
	}

	async #known(): Promise<string[]> {
		const { searches, store } = this.#needs;
		await store.ready;
		const homes = [
			...searches.searchFolders().map((folder) => join(dirname(folder), 'comparisons')),
			...store.own.filter((run) => !isForeign(run)).map(({ folder }) => join(folder, 'comparisons')),
		];
		const found = await Promise.all([...new Set(homes)].map((home) => comparisonsIn(home, 20)));
		return found.flat().slice(0, 50);
	}

	/** Returns null if the user canceled. */
	async #ask(): Promise<ComparisonSpec | null> {
		const { store, files, policies } = this.#needs;
		const steps = 5;
		const question = (step: number, what: string, placeholder?: string) => ({
			title: `Compare Strategies: ${what}`,
			step,
			steps,
			...(placeholder === undefined ? {} : { placeholder }),
		});
		const draft: { policy?: PolicySpec; chosen?: ChosenProblems; names?: string[]; scorer?: ScorerSpec | null } = {};
		const environment = () => draft.chosen?.environment ?? null;
		for (let step = 1; step <= steps; ) {
			let answer: { readonly value: unknown } | NoAnswer;
			switch (step) {
				case 1:
					answer = await askPolicy(question(1, 'policy'), store, policies, draft.policy ?? null);
					if (typeof answer === 'object') draft.policy = answer.value as PolicySpec;
					break;
				case 2:
					answer = await askComparedProblems(question(2, 'problems'), draft.policy ?? null, this.#needs);
					if (typeof answer === 'object') draft.chosen = answer.value as ChosenProblems;
					break;
				case 3: {
					answer = await askText(
						question(3, 'number of problems', 'Taken from the start of the problem set'),
						'100',
						(text) => (/^[1-9]\d{0,6}$/.test(text.trim()) ? null : 'Enter a positive integer.'),
					);
					if (typeof answer === 'object') {
						const { problems, ...chosen } = draft.chosen as ChosenProblems;
						draft.chosen = { ...chosen, problems: { ...problems, limit: Number(answer.value) } };
					}
					break;
				}
				case 4: {
					const picked = await showQuickPick(offeredStrategies(environment() !== null), {
						title: 'Compare Strategies (4/5): strategies',
						canPickMany: true,
					});
					answer = picked === undefined || picked.length === 0 ? 'cancel' : { value: picked };
					draft.names = picked?.map(({ name }) => name) ?? [];
					break;
				}
				default: {
					const scopes = (draft.names ?? []).map((name) => scorerNeed(name, environment()));
					if (scopes.every((scope) => scope === undefined)) answer = { value: null };
					else {
						const scope = scopes.includes('step') ? 'step' : 'final';
						const how = { scope, needed: true, gold: false } as const;
						answer = await askScorer(question(5, 'scorer'), files, how, draft.scorer ?? null);
					}
					if (typeof answer === 'object') draft.scorer = answer.value as ScorerSpec | null;
				}
			}
			if (answer === 'cancel') return null;
			step += answer === 'back' ? -1 : 1;
			if (step === 0) return null;
		}
		const scorer = draft.scorer ?? null;
		const played = environment();
		const spec = {
			policy: draft.policy as PolicySpec,
			problems: (draft.chosen as ChosenProblems).problems,
			...(played === null ? {} : { environment: played }),
			strategies: (draft.names ?? []).map((strategy) => comparedOf(strategy, scorer, played)),
		} satisfies ComparisonSpecInput;
		return decodeOrThrow(comparisonSpecSchema as v.GenericSchema<unknown, ComparisonSpec>, spec, 'The comparison');
	}
}

/** Returns the strategies to choose from. Those usually compared are preselected. */
function offeredStrategies(played: boolean) {
	const usual = played ? ['best-of-n', 'mcts'] : ['self-consistency', 'best-of-n', 'beam', 'mcts'];
	return strategies
		.filter(({ name }) => !played || episodeStrategies.includes(name))
		.map(({ name, title, description, source }) => ({
			label: title,
			description: source,
			detail: description,
			picked: usual.includes(name),
			name,
		}));
}

/** Returns the kind of scorer a strategy needs; none if the environment's reward is sufficient. */
function scorerNeed(name: string, environment: SearchEnvironment | null): ScorerScope | undefined {
	const strategy = strategies.find((one) => one.name === name);
	const need = strategy === undefined ? undefined : needsOf(strategy, strategyParams(strategy, {})).scorer;
	return environment !== null && need === 'final' ? undefined : need;
}

/** Returns a strategy with points at several compute budgets. */
function comparedOf(strategy: string, scorer: ScorerSpec | null, environment: SearchEnvironment | null) {
	const own = scorerNeed(strategy, environment) === undefined ? {} : { guide: scorer };
	const points =
		strategy === 'self-consistency' || strategy === 'best-of-n'
			? lookedAt.map((n) => ({ params: { n } }))
			: strategy === 'mcts'
				? [8, 32].map((simulations) => ({ params: { simulations } }))
				: [{}];
	// Where rewards are known, the best episode is better than the most visited one.
	const params = strategy === 'mcts' && environment !== null ? { params: { choose: 'value' } } : {};
	return { strategy, ...own, ...params, points };
}

/** "2026-03-04-101500-3f9a" */
function newName(now: Date): string {
	const two = (value: number) => String(value).padStart(2, '0');
	const day = [now.getFullYear(), two(now.getMonth() + 1), two(now.getDate())].join('-');
	const time = [now.getHours(), now.getMinutes(), now.getSeconds()].map(two).join('');
	return `${day}-${time}-${randomBytes(2).toString('hex')}`;
}
