import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import { Failure } from '../../src/base/failure.ts';
import { budgetFormat, readBudget } from '../../src/core/search/budgetText.ts';
import type { ExpectedUse } from '../../src/core/search/estimateUse.ts';
import { textOfValue } from '../../src/core/search/paramFields.ts';
import type { ScorerScope } from '../../src/core/search/scorer.ts';
import type { AnyStrategy } from '../../src/core/search/strategies.ts';
import { needsOf } from '../../src/core/search/strategy.ts';
import type {
	FormProblem,
	NewSearchEvent,
	OfferedEnvironment,
	OfferedPolicy,
	OfferedScorer,
	PolicyFacts,
	SearchDraft,
} from '../../src/protocol/newSearchMessages.ts';
import type { PolicySpec } from '../../src/protocol/policySpec.ts';
import type { SearchEnvironment } from '../../src/protocol/searchSpec.ts';
import { episodeFault, problemFault, splitFault } from './draftFaults.ts';
import {
	enteredParams,
	enteredSettings,
	givenSettings,
	noTexts,
	type SettingGroup,
	type SettingTexts,
	settingFault,
} from './enteredSettings.ts';
import { EnvironmentRows } from './environmentRows.ts';
import { expectedUse } from './expectedUse.ts';
import type { Host } from './host.ts';
import { environmentChoices, policyChoices } from './offeredChoices.ts';
import type { SavedState } from './savedState.ts';
import { environmentScorer, fittingScorers, type ScorerContext, selectedScorer } from './scorerChoice.ts';
import { strategyOf, without } from './searchDraft.ts';

/** Default split if nothing is known about the completions. */
const standardSplit = 'lines';

/** User input, with defaults for everything else. */
export class NewSearchModel extends Disposable {
	readonly #host: Host;
	readonly #changed = this.register(new Emitter<void>());
	readonly onChange = this.#changed.event;
	#contents: NewSearchEvent | null = null;
	#draft: SearchDraft;
	#texts: SettingTexts;
	#budget: string | null;
	#more: boolean;
	#facts: PolicyFacts | null = null;
	#asked: AbortController | null = null;
	/** Whether the problem comes from the policy's run or environment, so that changing either changes the problem. */
	#suggested = false;
	/** Text of the turn limit; null if nothing was entered. */
	#turns: string | null;
	readonly rows: EnvironmentRows;
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
		this.#turns = state?.turns ?? null;
		this.rows = this.register(new EnvironmentRows(host, () => this.#rowsRead(), state !== undefined));
		this.register({ dispose: () => this.#asked?.abort() });
	}

	/** null until the first message. */
	get contents(): NewSearchEvent | null {
		return this.#contents;
	}

	get draft(): SearchDraft {
		return this.#draft;
	}

	/** null until the facts have been read. */
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
		return policyChoices(this.#contents, this.#draft.policy);
	}

	/**
	 * The environment in which episodes are played: the selected one or, by default, the one the policy was trained in.
	 */
	get environment(): SearchEnvironment | null {
		const { environment } = this.#draft;
		return environment === undefined ? (this.#facts?.environment?.spec ?? null) : environment;
	}

	get environments(): readonly OfferedEnvironment[] {
		return environmentChoices(this.#contents, this.#facts, this.environment);
	}

	/** Text of the turn limit. */
	get turnsText(): string {
		return this.#turns ?? String(this.environment?.maxTurns ?? '');
	}

	get strategy(): AnyStrategy {
		return strategyOf(this.#draft, this.environment !== null);
	}

	/** What the strategy uses the scorer for; undefined if the strategy does not need one. */
	get scorerScope(): ScorerScope | undefined {
		return needsOf(this.strategy, this.#params()).scorer;
	}

	/**
	 * Whether the strategy extends prefixes, in which case the step rule matters. The steps of an episode are its turns.
	 */
	get usesSteps(): boolean {
		if (this.environment !== null) return false;
		const { name } = this.strategy;
		return name === 'tree-of-thoughts' || (needsOf(this.strategy, this.#params()).policy ?? []).includes('prefix');
	}

	/** Scorers that suit the strategy, the problem and the policy. */
	get scorers(): readonly OfferedScorer[] {
		return fittingScorers(this.#contents?.scorers ?? [], this.#scoring);
	}

	/** Scorer that guides the search; null if the strategy does not need one. */
	get scorer(): OfferedScorer | null {
		return selectedScorer(this.scorers, this.#scoring);
	}

	/** Step rule in effect: the selected one, or the one that suits the policy's completions. */
	get split(): NonNullable<SearchDraft['split']> {
		return this.#draft.split ?? this.#facts?.sample?.split?.split ?? standardSplit;
	}

	get budget(): NonNullable<SearchDraft['budget']> {
		const typed = this.#budget === null ? null : readBudget(this.#budget);
		return typed ?? this.#draft.budget ?? this.#contents?.budget ?? {};
	}

	/** Returns the expected usage; null if unknown, as for episodes. */
	get use(): ExpectedUse | null {
		const sample = this.environment === null ? (this.#facts?.sample ?? null) : null;
		const params = this.#params() as Record<string, unknown>;
		const entered = this.#settings('params').simulations !== undefined;
		const { split, budget } = this;
		return expectedUse({ strategy: this.strategy.name, params, entered, split, budget, sample });
	}

	/** First problem with the input; null if the search can start. */
	get fault(): string | null {
		if (this.#contents?.forbidden) return this.#contents.forbidden;
		if (this.#draft.policy === undefined) return 'Select a policy.';
		const played = this.environment !== null;
		const fault = played ? episodeFault(this.#draft, this.#turns, this.rows) : problemFault(this.#draft);
		if (fault !== null) return fault;
		if (this.scorerScope !== undefined && this.scorer === null) return 'Select a scorer.';
		if (this.#budget !== null && readBudget(this.#budget) === null) return budgetFormat;
		return settingFault(this.strategy, this.#draft, this.#texts) ?? (this.usesSteps ? splitFault(this.split) : null);
	}

	receive(event: NewSearchEvent): void {
		this.#contents = event;
		if (event.draft !== null) {
			this.rows.used();
			this.#begin(event.draft);
		}
		if (this.#facts === null) void this.#readFacts();
		this.#readRows();
		this.#changed.fire();
	}

	/** Returns the text of a setting: the user's input, or its value. */
	textOf(group: SettingGroup, name: string): string {
		return this.#texts[group][name] ?? textOfValue(givenSettings(this.#draft, group)[name]);
	}

	setPolicy(policy: PolicySpec): void {
		this.#draft = { ...this.#draft, policy };
		if (this.#suggested) this.#draft = without(this.#draft, 'problem');
		void this.#readFacts();
		this.#readRows();
		this.#changed.fire();
	}

	/** Selects an environment, or none. Discards the problem and the scorer, which belong to the previous one. */
	setEnvironment(environment: SearchEnvironment | null): void {
		this.#draft = { ...without(this.#draft, 'problem', 'params', 'guide', 'judge'), environment };
		this.#texts = { ...this.#texts, params: {} };
		this.#turns = null;
		this.rows.used();
		this.#readRows();
		const [first] = this.#facts?.problems ?? [];
		if (environment === null && first !== undefined) this.#setProblem(first, true);
		else this.#changed.fire();
	}

	chooseRow(at: number): void {
		const row = this.rows.offered?.rows[at];
		if (row !== undefined) this.#setProblem(row.problem, false);
	}

	typeTurns(text: string): void {
		this.#turns = text;
		this.#changed.fire();
	}

	async chooseServer(): Promise<void> {
		const chosen = await this.#answer(this.#host.request('chooseServer', {}));
		if (chosen) this.setEnvironment(chosen);
		else this.#changed.fire();
	}

	/** Changes the problem text. Discards a gold answer or row that belongs to a different text. */
	typeProblem(prompt: string): void {
		const before = this.#draft.problem;
		const answer = this.#suggested ? null : (before?.answer ?? null);
		this.#setProblem({ prompt, answer, row: {} }, false);
	}

	typeAnswer(answer: string): void {
		const problem = this.#draft.problem ?? { prompt: '', answer: null, row: {} };
		this.#setProblem({ ...problem, answer: answer.trim() === '' ? null : answer }, false);
	}

	/** Shows the next problem from the policy's run. */
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
		const split = this.environment === null ? this.split : standardSplit;
		await this.#answer(this.#host.request('start', { draft: this.#whole(), split }));
		this.#busy = false;
		this.#changed.fire();
	}

	/** null until there is something to save. */
	saved(): SavedState | null {
		if (this.#contents === null) return null;
		return { draft: this.#draft, ...this.#texts, budget: this.#budget, turns: this.#turns, more: this.#more };
	}

	#begin(draft: SearchDraft): void {
		this.#draft = draft;
		this.#texts = noTexts;
		this.#budget = null;
		this.#turns = null;
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
		this.#facts = facts ?? { environment: null, problems: [], source: null, sample: null };
		this.#readRows();
		if (this.environment !== null) return this.#playEpisodes();
		const { prompt } = this.#draft.problem ?? {};
		// A problem from the run still counts as suggested if it comes from the last search.
		this.#suggested = this.#facts.problems.some((problem) => problem.prompt === prompt);
		const [first] = this.#facts.problems;
		if (this.#draft.problem === undefined && first !== undefined) this.#setProblem(first, true);
		else this.#changed.fire();
	}

	/** Discards settings from an earlier search without episodes, because they do not apply to episodes. */
	#playEpisodes(): void {
		if (this.#draft.environment === undefined && this.#draft.guide?.use !== environmentScorer.spec.use) {
			this.#draft = without(this.#draft, 'params', 'guide', 'judge');
			if (Object.keys(this.#draft.problem?.row ?? {}).length === 0) this.#draft = without(this.#draft, 'problem');
		}
		this.#rowsRead();
	}

	get #scoring(): ScorerContext {
		return { scope: this.scorerScope, played: this.environment !== null, draft: this.#draft };
	}

	#readRows(): void {
		this.rows.read(this.environment, this.#draft.policy);
	}

	/** Selects the first row if none is selected. */
	#rowsRead(): void {
		const [first] = this.rows.offered?.rows ?? [];
		if (this.environment !== null && this.#draft.problem === undefined && first !== undefined) {
			this.#setProblem(first.problem, true);
		} else this.#changed.fire();
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

	#settings(group: SettingGroup): Record<string, unknown> {
		return enteredSettings(this.#draft, this.#texts, group);
	}

	#params(): unknown {
		return enteredParams(this.strategy, this.#draft, this.#texts);
	}

	#whole(): SearchDraft {
		const { environment } = this;
		const turns = this.#turns === null ? {} : { maxTurns: Number(this.#turns) };
		const draft = environment === null ? this.#draft : without(this.#draft, 'split');
		return {
			...draft,
			environment: environment === null ? null : { ...environment, ...turns },
			...this.#settings('search'),
			strategy: this.strategy.name,
			params: this.#settings('params'),
			sampling: this.#settings('sampling'),
			guide: this.scorer?.spec ?? (environment === null ? null : environmentScorer.spec),
			budget: this.budget,
		};
	}
}
