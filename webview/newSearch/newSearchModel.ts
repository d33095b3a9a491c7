import * as v from 'valibot';
import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import { Failure } from '../../src/base/failure.ts';
import { budgetFormat, readBudget } from '../../src/core/search/budgetText.ts';
import { type ExpectedUse, estimateUse } from '../../src/core/search/estimateUse.ts';
import { textOfValue, typedValue } from '../../src/core/search/paramFields.ts';
import type { ScorerScope } from '../../src/core/search/scorer.ts';
import type { StepSplit } from '../../src/core/search/search.ts';
import { stepRuleOf } from '../../src/core/search/stepRule.ts';
import { type AnyStrategy, strategies, strategyParams } from '../../src/core/search/strategies.ts';
import { needsOf } from '../../src/core/search/strategy.ts';
import { decodeOrThrow } from '../../src/protocol/decode.ts';
import type {
	FormProblem,
	NewSearchCommand,
	NewSearchEvent,
	newSearchRequests,
	OfferedPolicy,
	OfferedScorer,
	PolicyFacts,
	SearchDraft,
} from '../../src/protocol/newSearchMessages.ts';
import type { PolicySpec } from '../../src/protocol/policySpec.ts';
import { samplingSpecSchema, searchSpecSchema } from '../../src/protocol/searchSpec.ts';
import type { Panel } from '../lib/bridge.ts';
import { nameOfPolicy } from './policyName.ts';
import type { SavedState } from './savedState.ts';

export type Host = Panel<NewSearchCommand, typeof newSearchRequests>;
/** Settings entered as text: strategy parameters, sampling settings, and search settings. */
export type SettingGroup = 'params' | 'sampling' | 'search';

/** Strategy for the first search in a workspace, which needs neither a scorer nor steps. */
const firstStrategy = 'self-consistency';
/** Default split if nothing is known about the completions. */
const standardSplit = 'lines';

/** User input, with defaults for everything else. */
export class NewSearchModel extends Disposable {
	readonly #host: Host;
	readonly #changed = this.register(new Emitter<void>());
	readonly onChange = this.#changed.event;
	#contents: NewSearchEvent | null = null;
	#draft: SearchDraft;
	#texts: Record<SettingGroup, Record<string, string>>;
	#budget: string | null;
	#more: boolean;
	#facts: PolicyFacts | null = null;
	#asked: AbortController | null = null;
	/** Whether the problem comes from the policy's run, in which case changing the policy changes the problem. */
	#suggested = false;
	#busy = false;
	#failure: string | null = null;

	constructor(host: Host, state: SavedState | undefined) {
		super();
		this.#host = host;
		this.#draft = state?.draft ?? {};
		const { params = {}, sampling = {}, search = {} } = state ?? {};
		this.#texts = { params, sampling, search };
		this.#budget = state?.budget ?? null;
		this.#more = state?.more ?? false;
		this.register({ dispose: () => this.#asked?.abort() });
	}

	/** null until the first message. */
	get contents(): NewSearchEvent | null {
		return this.#contents;
	}

	get draft(): SearchDraft {
		return this.#draft;
	}

	/** null until they have been read. */
	get facts(): PolicyFacts | null {
		return this.#facts;
	}

	get busy(): boolean {
		return this.#busy;
	}

	/** Why the last attempt to start failed. */
	get failure(): string | null {
		return this.#failure;
	}

	/** Whether the parameters are visible. */
	get more(): boolean {
		return this.#more;
	}

	/** Text of a custom budget; null if the budget was chosen from the list. */
	get budgetText(): string | null {
		return this.#budget;
	}

	/** Available policies, including a selected one that is not in the list. */
	get policies(): readonly OfferedPolicy[] {
		const listed = this.#contents?.policies ?? [];
		const { policy } = this.#draft;
		if (policy === undefined || listed.some(({ spec }) => same(spec, policy))) return listed;
		return [...listed, { group: 'Other', label: nameOfPolicy(policy), detail: '', spec: policy }];
	}

	get strategy(): AnyStrategy {
		return strategies.find(({ name }) => name === this.#draft.strategy) ?? namedFirst();
	}

	/** Purpose of the scorer in the strategy; undefined if the strategy does not need one. */
	get scorerScope(): ScorerScope | undefined {
		return needsOf(this.strategy, this.#params()).scorer;
	}

	/** Whether the strategy extends prefixes, in which case the step rule matters. */
	get usesSteps(): boolean {
		const { name } = this.strategy;
		return name === 'tree-of-thoughts' || (needsOf(this.strategy, this.#params()).policy ?? []).includes('prefix');
	}

	/** Scorers that suit the strategy, the problem and the policy. */
	get scorers(): readonly OfferedScorer[] {
		const gold = (this.#draft.problem?.answer ?? null) !== null;
		const kind = this.#draft.policy?.kind;
		return (this.#contents?.scorers ?? []).filter(({ spec, steps, oracle }) => {
			if ((this.scorerScope === 'step' && !steps) || (oracle && !gold)) return false;
			if (spec.use === 'value' || spec.use === 'process') return kind === 'checkpoint' || kind === 'engine';
			return spec.use !== 'self-evaluation' || kind === 'openai' || kind === 'scripted';
		});
	}

	/** Scorer that guides the search; null if the strategy does not need one. */
	get scorer(): OfferedScorer | null {
		if (this.scorerScope === undefined) return null;
		const { guide } = this.#draft;
		const { scorers } = this;
		const usual = this.scorerScope === 'step' ? 'mean-logprob' : 'majority';
		const chosen = guide && scorers.find(({ spec }) => same(spec, guide));
		if (chosen) return chosen;
		if (guide) return { label: guide.use, detail: '', spec: guide, steps: true, oracle: false };
		return scorers.find(({ spec }) => spec.use === usual) ?? scorers[0] ?? null;
	}

	/** Step rule in effect: the selected one, or the one that suits the policy's completions. */
	get split(): NonNullable<SearchDraft['split']> {
		return this.#draft.split ?? this.#facts?.sample?.split?.split ?? standardSplit;
	}

	get budget(): NonNullable<SearchDraft['budget']> {
		const typed = this.#budget === null ? null : readBudget(this.#budget);
		return typed ?? this.#draft.budget ?? this.#contents?.budget ?? {};
	}

	/** Returns the expected usage; null if unknown. */
	get use(): ExpectedUse | null {
		const { sample } = this.#facts ?? {};
		if (sample === undefined || sample === null || sample.tokens === null) return null;
		const { split } = this;
		const size = typeof split === 'string' ? /^tokens-(\d+)$/.exec(split)?.[1] : undefined;
		const steps = size === undefined ? (sample.split?.steps ?? 1) : sample.tokens / Number(size);
		const completion = { tokens: sample.tokens, steps: split === 'completion' ? 1 : Math.max(1, steps) };
		const params = { ...(this.#params() as Record<string, unknown>) };
		const { simulations } = this.budget;
		// Unless the user has entered a number of simulations, the search uses the number in the budget.
		const entered = this.#settings('params').simulations !== undefined;
		if (simulations !== undefined && 'simulations' in params && !entered) params.simulations = simulations;
		return estimateUse(this.strategy.name, params, completion, this.budget);
	}

	/** First problem with the input; null if the search can start. */
	get fault(): string | null {
		if (this.#contents?.forbidden) return this.#contents.forbidden;
		if (this.#draft.policy === undefined) return 'Select a policy.';
		if ((this.#draft.problem?.prompt ?? '').trim() === '') return 'Enter a problem.';
		if (this.scorerScope !== undefined && this.scorer === null) return 'Select a scorer.';
		if (this.#budget !== null && readBudget(this.#budget) === null) return budgetFormat;
		const { split } = this.#draft;
		if (typeof split === 'object' && split.text === '') return 'Enter the text that ends a step.';
		return this.#settingFault();
	}

	receive(event: NewSearchEvent): void {
		this.#contents = event;
		if (event.draft !== null) this.#begin(event.draft);
		if (this.#facts === null) void this.#readFacts();
		this.#changed.fire();
	}

	/** Returns the text of a setting: the user's input, or its value. */
	textOf(group: SettingGroup, name: string): string {
		return this.#texts[group][name] ?? textOfValue(this.#given(group)[name]);
	}

	setPolicy(policy: PolicySpec): void {
		this.#draft = { ...this.#draft, policy };
		if (this.#suggested) this.#draft = without(this.#draft, 'problem');
		void this.#readFacts();
		this.#changed.fire();
	}

	/** Changes the text of the problem. Discards a gold answer or row that came with a different text. */
	typeProblem(prompt: string): void {
		const before = this.#draft.problem;
		const answer = this.#suggested ? null : (before?.answer ?? null);
		this.#setProblem({ prompt, answer, row: {} }, false);
	}

	typeAnswer(answer: string): void {
		const problem = this.#draft.problem ?? { prompt: '', answer: null, row: {} };
		this.#setProblem({ ...problem, answer: answer.trim() === '' ? null : answer }, false);
	}

	/** Shows the next problem of the policy's run. */
	nextProblem(): void {
		const { problems } = this.#facts ?? { problems: [] };
		const at = problems.findIndex(({ prompt }) => prompt === this.#draft.problem?.prompt);
		const next = problems[(at + 1) % problems.length];
		if (next !== undefined) this.#setProblem(next, true);
	}

	/** Selects a strategy, with default parameters and scorer. */
	setStrategy(strategy: string): void {
		this.#draft = { ...without(this.#draft, 'params', 'guide', 'judge'), strategy };
		this.#texts = { ...this.#texts, params: {} };
		this.#changed.fire();
	}

	change(change: Partial<SearchDraft>): void {
		this.#draft = { ...this.#draft, ...change };
		this.#changed.fire();
	}

	/** Lets the policy's completions determine the step rule. */
	suggestSplit(): void {
		this.#draft = without(this.#draft, 'split');
		this.#changed.fire();
	}

	/** @param text the user's input; null if a budget was chosen from the list */
	typeBudget(text: string | null): void {
		this.#budget = text;
		this.#changed.fire();
	}

	typeSetting(group: SettingGroup, name: string, text: string): void {
		this.#texts = { ...this.#texts, [group]: { ...this.#texts[group], [name]: text } };
		this.#changed.fire();
	}

	showMore(more: boolean): void {
		if (more === this.#more) return;
		this.#more = more;
		this.#changed.fire();
	}

	async choosePolicy(): Promise<void> {
		const chosen = await this.#answer(this.#host.request('choosePolicy', {}));
		if (chosen) this.setPolicy(chosen.spec);
		else this.#changed.fire();
	}

	async chooseProblem(): Promise<void> {
		const chosen = await this.#answer(this.#host.request('chooseProblem', {}));
		if (chosen) this.#setProblem(chosen, false);
	}

	runDemo(): void {
		this.#host.post({ type: 'runDemo' });
	}

	async start(): Promise<void> {
		if (this.#busy || this.fault !== null) return;
		this.#busy = true;
		this.#failure = null;
		this.#changed.fire();
		await this.#answer(this.#host.request('start', { draft: this.#whole(), split: this.split }));
		this.#busy = false;
		this.#changed.fire();
	}

	/** null until there is something to save. */
	saved(): SavedState | null {
		if (this.#contents === null) return null;
		return { draft: this.#draft, ...this.#texts, budget: this.#budget, more: this.#more };
	}

	#begin(draft: SearchDraft): void {
		this.#draft = { ...draft, strategy: draft.strategy ?? firstStrategy };
		this.#texts = { params: {}, sampling: {}, search: {} };
		this.#budget = null;
		this.#suggested = false;
		this.#facts = null;
		this.#failure = null;
	}

	#setProblem(problem: FormProblem, suggested: boolean): void {
		this.#draft = { ...this.#draft, problem };
		this.#suggested = suggested;
		this.#changed.fire();
	}

	async #readFacts(): Promise<void> {
		const { policy } = this.#draft;
		this.#asked?.abort();
		this.#facts = null;
		if (policy === undefined) return;
		const asked = new AbortController();
		this.#asked = asked;
		const facts = await this.#host.request('facts', { policy }, asked.signal).catch(() => null);
		if (asked.signal.aborted || this.disposed) return;
		this.#facts = facts ?? { problems: [], source: null, sample: null };
		const { prompt } = this.#draft.problem ?? {};
		// A problem from the run stays one even if it was used in the last search.
		this.#suggested = this.#facts.problems.some((problem) => problem.prompt === prompt);
		const [first] = this.#facts.problems;
		if (this.#draft.problem === undefined && first !== undefined) this.#setProblem(first, true);
		else this.#changed.fire();
	}

	/** Returns the response to a request; null if the request failed, with the reason in `failure`. */
	async #answer<T>(request: Promise<T>): Promise<T | null> {
		this.#failure = null;
		try {
			return await request;
		} catch (error) {
			const failure = Failure.from(error);
			this.#failure = failure.reason === 'cancelled' ? null : failure.toString();
			this.#changed.fire();
			return null;
		}
	}

	#given(group: SettingGroup): Record<string, unknown> {
		const { seed, concurrency } = this.#draft;
		return group === 'search' ? { seed, concurrency } : { ...this.#draft[group] };
	}

	/** Returns the settings as entered; empty text stands for the default. */
	#settings(group: SettingGroup): Record<string, unknown> {
		const settings = this.#given(group);
		for (const [name, text] of Object.entries(this.#texts[group])) {
			if (text.trim() === '') delete settings[name];
			else settings[name] = typedValue(text);
		}
		return settings;
	}

	/** Returns all parameters, or the defaults while the input is invalid. */
	#params(): unknown {
		try {
			return strategyParams(this.strategy, this.#settings('params'));
		} catch {
			return strategyParams(this.strategy, {});
		}
	}

	#settingFault(): string | null {
		try {
			strategyParams(this.strategy, this.#settings('params'));
			decodeOrThrow(samplingSpecSchema, this.#settings('sampling'), 'Sampling');
			decodeOrThrow(v.pick(searchSpecSchema, ['seed', 'concurrency']), this.#settings('search'), 'The search');
			if (typeof this.split === 'string') stepRuleOf(this.split as StepSplit);
			return null;
		} catch (error) {
			return Failure.from(error).message;
		}
	}

	#whole(): SearchDraft {
		return {
			...this.#draft,
			...this.#settings('search'),
			strategy: this.strategy.name,
			params: this.#settings('params'),
			sampling: this.#settings('sampling'),
			guide: this.scorer?.spec ?? null,
			budget: this.budget,
		};
	}
}

const namedFirst = (): AnyStrategy =>
	strategies.find(({ name }) => name === firstStrategy) ?? (strategies[0] as AnyStrategy);

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

function without<K extends keyof SearchDraft>(draft: SearchDraft, ...names: K[]): SearchDraft {
	return Object.fromEntries(Object.entries(draft).filter(([name]) => !(names as string[]).includes(name)));
}
