import { basename } from 'node:path';
import type * as v from 'valibot';
import { Disposable, toDisposable } from '../base/disposable.ts';
import { Failure } from '../base/failure.ts';
import type { SearchResume } from '../core/search/continueSearch.ts';
import { probePolicy } from '../policies/probePolicy.ts';
import type { PolicySpec } from '../protocol/policySpec.ts';
import type { RunningSearch, SearchNews, SearchResult, searchRequests } from '../protocol/searchWorker.ts';
import { torchPythonVariable } from '../runs/servedCheckpoint.ts';
import { PolicyPool } from './policyPool.ts';
import { pruneNode } from './pruneNode.ts';
import type { SearchContext } from './searchContext.ts';
import { continueSearch, type SearchSession, startSearch } from './searchSession.ts';

type Params<M extends keyof typeof searchRequests> = v.InferOutput<(typeof searchRequests)[M]['params']>;

export interface SearchPrograms {
	/** Path to the engine, which serves checkpoints. */
	readonly engine: string;
	/** Name of this program in the engine's log. */
	readonly client: string;
}

/** Searches running in one process, keyed by log. They share open policies. */
export class RunningSearches extends Disposable {
	readonly #programs: SearchPrograms;
	readonly #tell: (news: SearchNews<'changed'>) => void;
	readonly #pool = this.register(new PolicyPool());
	readonly #running = new Map<string, { readonly session: SearchSession; readonly context: SearchContext }>();
	readonly #ending = new AbortController();

	constructor(programs: SearchPrograms, notify: (news: SearchNews<'changed'>) => void) {
		super();
		this.#programs = programs;
		this.#tell = notify;
		this.register(toDisposable(() => this.#ending.abort()));
	}

	list(): RunningSearch[] {
		return [...this.#running.values()].map(({ session }) => session.progress);
	}

	/**
	 * Resolves when the log has its first lines. The signal can cancel only the startup; after that, the search runs
	 * independently.
	 */
	async start({ spec, problem, log, ...own }: Params<'start'>, signal: AbortSignal): Promise<void> {
		const context = this.context(own);
		await this.#begin(context, signal, (begins) => startSearch({ spec, problem, log, context, signal: begins }));
	}

	async goOn(params: Params<'continue'>, signal: AbortSignal): Promise<void> {
		const { log, spec, budget, action, ...own } = params;
		const context = this.context(own);
		await this.#begin(context, signal, (begins) =>
			continueSearch({
				log,
				budget,
				action: resumeOf(action),
				context,
				signal: begins,
				...(spec === undefined ? {} : { spec }),
			}),
		);
	}

	/**
	 * Prunes or restores a node. If the search is running, it is stopped for the change and continued with its remaining
	 * budget.
	 */
	async prune(log: string, node: number, restore: boolean): Promise<void> {
		const running = this.#running.get(log);
		if (running === undefined) return pruneNode(log, node, restore);
		await running.session.stop();
		const { outcome } = await running.session.result;
		await pruneNode(log, node, restore);
		if (outcome.stop !== 'stopped') return;
		const { context, session } = running;
		await this.#begin(context, this.#ending.signal, (signal) =>
			continueSearch({ log, budget: session.left, action: { action: 'more' }, spec: session.spec, context, signal }),
		);
	}

	/** Resolves when the log has ended; does nothing if no search is running. */
	async stop(log: string): Promise<void> {
		await this.#running.get(log)?.session.stop();
	}

	async models(
		spec: PolicySpec,
		keys: Readonly<Record<string, string>>,
		signal: AbortSignal,
	): Promise<SearchResult<'models'>> {
		if (spec.kind !== 'openai') throw new Failure('unsupported', 'Only servers can list models.');
		const { listModels } = await import('../policies/openai/openOpenAiPolicy.ts');
		return { models: await listModels(spec, { keys, signal }) };
	}

	async probe(
		spec: PolicySpec,
		keys: Readonly<Record<string, string>>,
		signal: AbortSignal,
	): Promise<SearchResult<'probe'>> {
		const found = await probePolicy(spec, { ...this.context({ keys, environment: {} }).policies, signal });
		const { capabilities } = found;
		return { ...found, capabilities: { ...capabilities, heads: [...capabilities.heads] }, notes: [...found.notes] };
	}

	/** Stops all searches, leaving their logs complete. */
	async close(): Promise<void> {
		this.#ending.abort();
		await Promise.all([...this.#running.values()].map(({ session }) => session.stop()));
		this.dispose();
	}

	/** Returns the context for searches in this process, with the API keys and settings from a request. */
	context({ keys, environment, memoryMb }: Pick<Params<'start'>, 'keys' | 'environment' | 'memoryMb'>): SearchContext {
		const { engine, client } = this.#programs;
		const all = { ...process.env, ...environment };
		// The only variable passed to policies is the path to the Python interpreter that serves PyTorch checkpoints.
		const python = { [torchPythonVariable]: all[torchPythonVariable] };
		return {
			pool: this.#pool,
			policies: { keys, engine, client, folder: process.cwd(), environment: python },
			environment: all,
			...(memoryMb === undefined ? {} : { memoryMb }),
		};
	}

	async #begin(
		context: SearchContext,
		signal: AbortSignal,
		begin: (signal: AbortSignal) => Promise<SearchSession>,
	): Promise<void> {
		const cancel = new AbortController();
		const abort = () => cancel.abort();
		signal.addEventListener('abort', abort, { once: true });
		this.#ending.signal.addEventListener('abort', abort, { once: true });
		if (signal.aborted || this.#ending.signal.aborted) abort();
		try {
			const session = await begin(cancel.signal);
			this.#follow(session, context);
		} finally {
			signal.removeEventListener('abort', abort);
		}
	}

	#follow(session: SearchSession, context: SearchContext): void {
		const { log } = session;
		this.#running.set(log, { session, context });
		this.#tell({ log, state: 'running', failure: null });
		const ended = (failure: string | null) => {
			if (this.#running.get(log)?.session === session) this.#running.delete(log);
			this.#tell({ log, state: 'ended', failure });
		};
		session.result.then(
			({ outcome, message }) =>
				ended(
					outcome.stop === 'policy' || outcome.stop === 'scorer' ? (message ?? `The ${outcome.stop} failed.`) : null,
				),
			(error: unknown) => ended(Failure.from(error, `The search ${basename(log)} failed`).toString()),
		);
	}
}

/** Converts a requested continuation to the format that searches use. */
export function resumeOf(
	action: Params<'continue'>['action'],
): Pick<SearchResume, 'action' | 'node' | 'text' | 'token'> {
	switch (action.kind) {
		case 'more':
			return { action: 'more' };
		case 'branch':
			return { action: 'branch', node: action.node };
		case 'edit':
			return { action: 'edit', node: action.node, text: action.text };
		case 'force':
			return { action: 'force', node: action.node, token: action.token, text: action.text };
	}
}
