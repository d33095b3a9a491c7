import { mkdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { Failure } from '../base/failure.ts';
import { equivalentAnswers } from '../core/search/answerClasses.ts';
import { readLog, type SearchResume } from '../core/search/continueSearch.ts';
import type { SearchResult } from '../core/search/searchRun.ts';
import { SearchTree } from '../core/search/searchTree.ts';
import { strategyOf, strategyParams } from '../core/search/strategies.ts';
import { FileLock } from '../files/fileLock.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { keyNamesOf, type SearchSpec, searchSpecSchema } from '../protocol/searchSpec.ts';
import type { RunningSearch } from '../protocol/searchWorker.ts';
import type { SearchBudget, SearchProblem, TreeEvent, TreeEventOf } from '../protocol/treeLog.ts';
import { searchLockFolder, searchLogEnding } from '../runs/searchLog.ts';
import { isOwnSearch, sealKey, sealOf } from '../runs/searchSeal.ts';
import { OpenSearch, type RunHandle, type RunOptions } from './openSearch.ts';
import type { SearchContext } from './searchContext.ts';
import { type ReadTreeLog, readTreeLog, requireNew, setTornAside } from './treeLogFile.ts';
import { TreeLogWriter } from './treeLogWriter.ts';

export interface SearchStart {
	readonly spec: SearchSpec;
	readonly problem: SearchProblem;
	/** Must not exist. */
	readonly log: string;
	readonly context: SearchContext;
	/** Ends beginning and search. */
	readonly signal?: AbortSignal;
	readonly onText?: RunOptions['onText'];
}

export interface SearchContinuation extends Omit<SearchStart, 'spec' | 'problem'> {
	/** Instead of the log's own. */
	readonly spec?: SearchSpec;
	/** What may be used from here on. */
	readonly budget: SearchBudget;
	readonly action: Pick<SearchResume, 'action' | 'node' | 'text' | 'token'>;
}

/**
 * A search that writes its log while it runs. Whatever happens, the log is complete up to its last line and can continue:
 * {@link startSearch}, {@link continueSearch}.
 */
export class SearchSession {
	readonly log: string;
	readonly spec: SearchSpec;
	/** What the search came to. Rejects when its log could not be written (`full`, `denied`), or it could not continue at all. */
	readonly result: Promise<SearchResult>;
	readonly #run: RunHandle;
	readonly #tree: SearchTree;
	readonly #facts: { readonly strategy: string; readonly started: number; readonly before: number };
	readonly #budget: SearchBudget;
	#tokens: number;
	#simulations: number;
	#correct: boolean | null = null;
	readonly #faults: { count: number; last: string | null } = { count: 0, last: null };
	readonly #before: { readonly tokens: number; readonly cost: number };
	#used = { nodes: 0, tokens: 0, simulations: 0, cost: 0 };

	/** @internal */
	constructor(
		log: string,
		opened: OpenSearch,
		lock: FileLock,
		read: ReadTreeLog | null,
		how: Pick<RunOptions, 'problem' | 'signal' | 'resume' | 'budget' | 'onText'>,
		began: () => void,
		seal: Buffer | null,
	) {
		this.log = log;
		this.spec = opened.spec;
		this.#tree = new SearchTree();
		this.#budget = how.budget ?? opened.spec.budget;
		const { tokens, simulations, cost } = readLog(read?.events ?? [], this.#tree).totals;
		this.#tokens = tokens;
		this.#simulations = simulations;
		this.#before = { tokens, cost: cost ?? 0 };
		this.#facts = { strategy: opened.spec.strategy, started: performance.now(), before: read?.events.at(-1)?.at ?? 0 };
		const writer = new TreeLogWriter(log, () => this.#run?.stop());
		let begun = false;
		this.#run = opened.run({
			...how,
			id: basename(log, searchLogEnding),
			beforeCall: () => (writer.behind ? writer.flush() : undefined),
			onEvent: (event) => {
				const told = sealed(withVerdict(event, how.problem.answer), seal);
				if (told.t === 'end') this.#ended(told);
				writer.write(told);
				this.#tree.apply(event);
				this.#count(event);
				if (begun || (event.t !== 'node' && event.t !== 'resume')) return;
				begun = true;
				void writer.flush().then(began, () => undefined);
			},
		});
		this.result = this.#finish(opened, writer, lock);
		this.result.catch(() => undefined);
	}

	/** How far it is. */
	get progress(): RunningSearch {
		return {
			log: this.log,
			strategy: this.#facts.strategy,
			nodes: this.#tree.nodeCount,
			tokens: this.#tokens,
			simulations: this.#simulations,
			seconds: this.#facts.before + (performance.now() - this.#facts.started) / 1000,
		};
	}

	/** What is left of the budget of this part of the search; its cost, and tokens that became no node, count at its end. */
	get left(): SearchBudget {
		const seconds = (performance.now() - this.#facts.started) / 1000;
		const used = { ...this.#used, seconds };
		const left = Object.entries(this.#budget).flatMap(([name, limit]) =>
			limit === undefined ? [] : [[name, Math.max(0, limit - used[name as keyof typeof used])]],
		);
		return Object.fromEntries(left);
	}

	/** Whether the answer is the gold one; null: it has not ended, or no gold answer is known. */
	get correct(): boolean | null {
		return this.#correct;
	}

	/** What went wrong in this part of the search and did not end it. */
	get faults(): { readonly count: number; readonly last: string | null } {
		return this.#faults;
	}

	/** The tree as far as it is. */
	get tree(): SearchTree {
		return this.#tree;
	}

	/** Ends the search; resolves when its log has its end. Never rejects. */
	async stop(): Promise<void> {
		this.#run.stop();
		await this.result.catch(() => undefined);
	}

	/** What was asked besides the nodes is known now, and what all of it has cost. */
	#ended({ correct, tokens, cost }: TreeEventOf<'end'>): void {
		this.#correct = correct;
		this.#tokens = tokens;
		this.#used.tokens = tokens - this.#before.tokens;
		this.#used.cost = (cost ?? 0) - this.#before.cost;
	}

	#count(event: TreeEvent): void {
		if (event.t === 'node' && event.parents.length > 0) {
			this.#tokens += event.tokens ?? 0;
			this.#used.tokens += event.tokens ?? 0;
			this.#used.nodes++;
		} else if (event.t === 'visit') {
			this.#simulations += event.times;
			this.#used.simulations += event.times;
		} else if (event.t === 'fault') {
			this.#faults.count++;
			this.#faults.last = event.message;
		}
	}

	async #finish(opened: OpenSearch, writer: TreeLogWriter, lock: FileLock): Promise<SearchResult> {
		try {
			const result = await this.#run.result.catch((error: unknown) => {
				throw writer.failure ?? error;
			});
			await writer.flush();
			if (result.outcome.stop === 'policy') opened.discardPolicy();
			return result;
		} finally {
			await writer.close();
			opened.dispose();
			await lock.release();
		}
	}
}

/** Who began it may let it continue with all that it names. */
function sealed(event: TreeEvent, key: Buffer | null): TreeEvent {
	return event.t !== 'start' || key === null ? event : { ...event, seal: sealOf(key, event) };
}

/** The end of a search says whether its answer is the gold one. */
function withVerdict(event: TreeEvent, gold: string | null): TreeEvent {
	if (event.t !== 'end' || gold === null) return event;
	return { ...event, correct: event.answer !== null && equivalentAnswers(gold, event.answer) };
}

/**
 * Begins a search; resolves when its log has its first lines. Fails with `exists` where the log is there, with `busy` where
 * somebody else is at it, and as {@link OpenSearch.open} does; there is no log then.
 */
export async function startSearch(start: SearchStart): Promise<SearchSession> {
	const { log, context, signal, spec, problem, onText } = start;
	await requireNew(log);
	await mkdir(dirname(log), { recursive: true }).catch((error: unknown) => {
		throw Failure.from(error, `Cannot write to ${dirname(log)}`);
	});
	return begin(log, context, signal, async () => {
		await requireNew(log);
		return { spec, read: null, how: { problem, ...(onText === undefined ? {} : { onText }) } };
	});
}

/**
 * Lets the search of a log continue in the same file: what a crash has torn is set aside, what is there becomes its tree. Fails
 * with `busy` while a search writes to it, with `denied` for a log that this user did not begin where no specification is given,
 * with `invalid` for a log that cannot continue or a node that is missing, and as
 * {@link OpenSearch.open} does; the log is as it was then, but for a torn end.
 */
export async function continueSearch(go: SearchContinuation): Promise<SearchSession> {
	const { log, context, signal, action, budget, onText } = go;
	return begin(log, context, signal, async () => {
		const read = await readTreeLog(log);
		const last = await setTornAside(log, read);
		const events = last === null ? read.events : [...read.events, last];
		const start = read.tree.start;
		if (start === null) throw new Failure('invalid', `${log} has no start event.`);
		const told = go.spec ?? (await ownSpec(log, read));
		const spec = withRoom(told, budget, read.tree);
		// Who began the search has named these.
		const keyVariables = go.spec === undefined ? keyNamesOf(told) : [];
		const how = {
			problem: start.problem,
			resume: { events, ...action },
			budget,
			...(onText === undefined ? {} : { onText }),
		};
		return { spec, read: { ...read, events }, how, keyVariables };
	});
}

/** What the log says to continue with, where it is this user's word. */
async function ownSpec(log: string, read: ReadTreeLog): Promise<SearchSpec> {
	const spec = specOf(log, read);
	const { start } = read.tree;
	if (start !== null && (await isOwnSearch(start))) return spec;
	throw new Failure(
		'denied',
		`${basename(log)} was not started by you on this machine, or was changed since, so the policy, scorers, files, tools and keys it names are not used.`,
		'Pass what to continue with: --policy, and --strategy, --guide and --tools if it has them.',
	);
}

/** The specification that a log was started with, and what the last person who let it continue changed. */
function specOf(log: string, { events, tree }: ReadTreeLog): SearchSpec {
	const given = tree.start?.spec;
	if (given === undefined) {
		throw new Failure(
			'unsupported',
			`${basename(log)} does not record its policy, so it cannot be continued.`,
			'Start a new search on its problem.',
		);
	}
	const spec = decodeOrThrow(searchSpecSchema, given, `The specification in ${basename(log)}`);
	const changed = events.findLast((event) => event.t === 'resume' && event.strategy !== undefined);
	if (changed?.t !== 'resume' || changed.strategy === undefined) return spec;
	return { ...spec, strategy: changed.strategy, params: changed.params ?? {} };
}

/** Who lets a search continue for so many simulations means them, whatever its parameters say of one round. */
function withRoom(spec: SearchSpec, { simulations }: SearchBudget, tree: SearchTree): SearchSpec {
	if (simulations === undefined) return spec;
	const params = strategyParams(strategyOf(spec.strategy), spec.params) as { readonly simulations?: unknown };
	const wanted = simulations + (tree.nodes[0]?.visits ?? 0);
	if (typeof params.simulations !== 'number' || params.simulations >= wanted) return spec;
	return { ...spec, params: { ...spec.params, simulations: wanted } };
}

interface Prepared {
	readonly spec: SearchSpec;
	readonly read: ReadTreeLog | null;
	readonly how: Pick<RunOptions, 'problem' | 'resume' | 'budget' | 'onText'>;
	/** Further variables with keys that the person has named. */
	readonly keyVariables?: readonly string[];
}

async function begin(
	log: string,
	context: SearchContext,
	signal: AbortSignal | undefined,
	prepare: () => Promise<Prepared>,
): Promise<SearchSession> {
	const lock = await FileLock.acquire(searchLockFolder(log), `The search ${basename(log)}`);
	let opened: OpenSearch | null = null;
	let session: SearchSession;
	let began: Promise<void>;
	try {
		const { spec, read, how, keyVariables = [] } = await prepare();
		const { policies } = context;
		const named = [...(policies.keyVariables ?? []), ...keyVariables];
		opened = await OpenSearch.open(spec, { ...context, policies: { ...policies, keyVariables: named } }, signal);
		const search = opened;
		let tell: () => void = () => undefined;
		began = new Promise((resolve) => {
			tell = resolve;
		});
		const given = { ...how, ...(signal === undefined ? {} : { signal }) };
		const seal = read === null ? await sealKey() : null;
		session = new SearchSession(log, search, lock, read, given, tell, seal);
	} catch (error) {
		opened?.dispose();
		await lock.release();
		throw error;
	}
	// From here on the session gives back what it holds.
	await Promise.race([began, session.result]);
	return session;
}
