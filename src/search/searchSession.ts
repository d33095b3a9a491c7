import { mkdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { Failure } from '../base/failure.ts';
import { equivalentAnswers } from '../core/search/answerClasses.ts';
import { readLog, type SearchResume } from '../core/search/continueSearch.ts';
import type { SearchResult } from '../core/search/searchRun.ts';
import { SearchStop } from '../core/search/searchStop.ts';
import { SearchTree } from '../core/search/searchTree.ts';
import { strategyOf, strategyParams } from '../core/search/strategies.ts';
import { FileLock } from '../files/fileLock.ts';
import { firstTurnNotes } from '../policies/firstTurnNotes.ts';
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
	/** Path of the new log; the file must not exist. */
	readonly log: string;
	readonly context: SearchContext;
	/** Cancels the start and the search. */
	readonly signal?: AbortSignal;
	readonly onText?: RunOptions['onText'];
}

export interface SearchContinuation extends Omit<SearchStart, 'spec' | 'problem'> {
	/** Overrides the specification in the log. */
	readonly spec?: SearchSpec;
	/** Budget for the continuation. */
	readonly budget: SearchBudget;
	readonly action: Pick<SearchResume, 'action' | 'node' | 'text' | 'token'>;
}

/**
 * A search that writes its log while it runs. Whatever happens, the log is complete up to its last line and can be
 * continued. See {@link startSearch} and {@link continueSearch}.
 */
export class SearchSession {
	readonly log: string;
	readonly spec: SearchSpec;
	/** Notes about the search, one sentence each. */
	readonly notes: readonly string[];
	/**
	 * Result of the search. Rejects if the log could not be written (`full`, `denied`), or if the search could not
	 * continue at all.
	 */
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
		this.notes = opened.environment === null ? firstTurnNotes(opened.policy.environment) : [];
		this.#tree = new SearchTree();
		this.#budget = how.budget ?? opened.spec.budget;
		const { tokens, simulations, cost } = readLog(read?.events ?? [], this.#tree).totals;
		this.#tokens = tokens;
		this.#simulations = simulations;
		this.#before = { tokens, cost: cost ?? 0 };
		this.#facts = { strategy: opened.spec.strategy, started: performance.now(), before: read?.events.at(-1)?.at ?? 0 };
		const writer = new TreeLogWriter(log, () => this.#run?.stop());
		let started = false;
		this.#run = opened.run({
			...how,
			id: basename(log, searchLogEnding),
			beforeCall: () => (writer.behind ? writer.flush() : undefined),
			onEvent: (event) => {
				const givenSpec = sealed(withVerdict(event, how.problem.answer), seal);
				if (givenSpec.t === 'end') this.#ended(givenSpec);
				writer.write(givenSpec);
				this.#tree.apply(event);
				this.#count(event);
				if (started || (event.t !== 'node' && event.t !== 'resume')) return;
				started = true;
				void writer.flush().then(began, () => undefined);
			},
		});
		this.result = this.#finish(opened, writer, lock);
		this.result.catch(() => undefined);
	}

	/** Current progress. */
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

	/**
	 * Remaining budget for this part of the search. Cost, and tokens that did not become part of a node, are deducted
	 * only after this part ends.
	 */
	get left(): SearchBudget {
		const seconds = (performance.now() - this.#facts.started) / 1000;
		const used = { ...this.#used, seconds };
		const left = Object.entries(this.#budget).flatMap(([name, limit]) =>
			limit === undefined ? [] : [[name, Math.max(0, limit - used[name as keyof typeof used])]],
		);
		return Object.fromEntries(left);
	}

	/** Whether the answer matches the gold answer; null if the search has not ended or there is no gold answer. */
	get correct(): boolean | null {
		return this.#correct;
	}

	/** Errors in this part of the search that did not end it. */
	get faults(): { readonly count: number; readonly last: string | null } {
		return this.#faults;
	}

	/** The tree so far. */
	get tree(): SearchTree {
		return this.#tree;
	}

	/** Stops the search; resolves when its log has ended. Never rejects. */
	async stop(): Promise<void> {
		this.#run.stop();
		await this.result.catch(() => undefined);
	}

	/** Adds usage that is known only at the end: requests that produced no nodes, and the total cost. */
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

/** Seals a start event, so that the user who started the search can continue it with everything the event specifies. */
function sealed(event: TreeEvent, key: Buffer | null): TreeEvent {
	return event.t !== 'start' || key === null ? event : { ...event, seal: sealOf(key, event) };
}

/** Records in the end event whether the answer matches the gold answer. */
function withVerdict(event: TreeEvent, gold: string | null): TreeEvent {
	if (event.t !== 'end' || gold === null) return event;
	return { ...event, correct: event.answer !== null && equivalentAnswers(gold, event.answer) };
}

/**
 * Starts a search; resolves when its log has its first lines. Fails with `exists` if the log exists, with `busy` if
 * another process is using it, and with the same errors as {@link OpenSearch.open}; on failure, no log is created.
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
 * Continues a search in its existing log file: anything left incomplete by a crash is set aside, and the rest becomes
 * the tree. Fails with `busy` while a search is writing to the log, with `denied` if this user did not start the search
 * and no specification is given, with `invalid` if the log cannot be continued or a node is missing, and with the same
 * errors as {@link OpenSearch.open}; on failure, the log is unchanged, except that an incomplete end may have been set
 * aside.
 */
export async function continueSearch(go: SearchContinuation): Promise<SearchSession> {
	const { log, context, signal, action, budget, onText } = go;
	return begin(log, context, signal, async () => {
		const read = await readTreeLog(log);
		const last = await setTornAside(log, read);
		const events = last === null ? read.events : [...read.events, last];
		const start = read.tree.start;
		if (start === null) throw new Failure('invalid', `${log} has no start event.`);
		const givenSpec = go.spec ?? (await ownSpec(log, read));
		// Text before a forced token is the start of a turn, but edited text could contain calls that were not made.
		if (givenSpec.environment !== undefined && action.action === 'edit') {
			throw new Failure('unsupported', 'Turns of an episode cannot be edited.', 'Use Branch to continue below a turn.');
		}
		const spec = withRoom(givenSpec, budget, read.tree);
		// The names of these variables come from the user who started the search.
		const keyVariables = go.spec === undefined ? keyNamesOf(givenSpec) : [];
		const how = {
			problem: start.problem,
			resume: { events, ...action },
			budget,
			...(onText === undefined ? {} : { onText }),
		};
		return { spec, read: { ...read, events }, how, keyVariables };
	});
}

/**
 * Returns the specification to continue with, taken from the log. Fails with `denied` if it does not come from this
 * user.
 */
async function ownSpec(log: string, read: ReadTreeLog): Promise<SearchSpec> {
	const spec = specOf(log, read);
	const { start } = read.tree;
	if (start !== null && (await isOwnSearch(start))) return spec;
	throw new Failure(
		'denied',
		`You did not start ${basename(log)} on this machine, or the log has changed since, so the policy, scorers, files, tools and keys it names are not used.`,
		'Specify --policy to continue, and also --strategy, --guide and --tools if needed.',
	);
}

/** Returns the specification that a log was started with, including changes from the last time it was continued. */
function specOf(log: string, { events, tree }: ReadTreeLog): SearchSpec {
	const given = tree.start?.spec;
	if (given === undefined) {
		throw new Failure(
			'unsupported',
			`${basename(log)} does not contain its policy, so it cannot be continued.`,
			'Start a new search for the same problem.',
		);
	}
	const spec = decodeOrThrow(searchSpecSchema, given, `The specification in ${basename(log)}`);
	const changed = events.findLast((event) => event.t === 'resume' && event.strategy !== undefined);
	if (changed?.t !== 'resume' || changed.strategy === undefined) return spec;
	return { ...spec, strategy: changed.strategy, params: changed.params ?? {} };
}

/** Raises a strategy's simulation limit to allow the additional simulations that the user requested. */
function withRoom(spec: SearchSpec, { simulations }: SearchBudget, tree: SearchTree): SearchSpec {
	if (simulations === undefined) return spec;
	const params = strategyParams(strategyOf(spec.strategy), spec.params) as { readonly simulations?: unknown };
	const wanted = simulations + (tree.nodes[0]?.visits ?? 0);
	if (typeof params.simulations !== 'number' || params.simulations >= wanted) return spec;
	return { ...spec, params: { ...spec.params, simulations: wanted } };
}

/** Returns the problem in the form the search needs. A failed `reset` counts as an environment failure. */
async function posed(search: OpenSearch, problem: SearchProblem): Promise<SearchProblem> {
	try {
		return await search.pose(problem);
	} catch (error) {
		throw error instanceof SearchStop ? new Failure('invalid', error.message, 'Verify the environment.') : error;
	}
}

interface Prepared {
	readonly spec: SearchSpec;
	readonly read: ReadTreeLog | null;
	readonly how: Pick<RunOptions, 'problem' | 'resume' | 'budget' | 'onText'>;
	/** Names of additional environment variables that contain API keys, specified by the user. */
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
		const problem = read === null ? await posed(search, how.problem) : how.problem;
		let notify: () => void = () => undefined;
		began = new Promise((resolve) => {
			notify = resolve;
		});
		const given = { ...how, problem, ...(signal === undefined ? {} : { signal }) };
		const seal = read === null ? await sealKey() : null;
		session = new SearchSession(log, search, lock, read, given, notify, seal);
	} catch (error) {
		opened?.dispose();
		await lock.release();
		throw error;
	}
	// From here on, the session releases its own resources.
	await Promise.race([began, session.result]);
	return session;
}
