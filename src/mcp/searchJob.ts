import * as v from 'valibot';
import { deferred, unlessAborted } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import type { SearchResult } from '../core/search/searchRun.ts';
import { isRunFolder } from '../runs/runFolders.ts';
import { ownSearchContext } from '../search/ownSearchContext.ts';
import type { SearchContext } from '../search/searchContext.ts';
import type { SearchSession } from '../search/searchSession.ts';
import { quote } from './answer.ts';
import * as input from './inputs.ts';
import type { KnownRun } from './runs.ts';
import type { ActionContext } from './tool.ts';
import { shownJob } from './tools/jobTools.ts';

/** Limits for a search, which clients can raise. */
export const searchBudget = {
	tokens: v.optional(input.described(input.whole(1, 1e9), 'Token budget.'), 200_000),
	seconds: v.optional(input.described(input.whole(1, 86_400), 'Time limit in seconds.'), 300),
};

/** Interval between progress reports of a search, in milliseconds. */
const reportMs = 500;

/** Runs a task with its own policies, which are closed afterward. */
export async function withPolicies<T>(
	{ engine }: ActionContext,
	run: KnownRun,
	work: (context: SearchContext) => Promise<T>,
): Promise<T> {
	const context = ownSearchContext({ engine, client: 'reasoning-lab mcp', folder: run.folder });
	try {
		return await work(context);
	} finally {
		context.pool.dispose();
	}
}

/**
 * Fails with `unsupported` for runs from other trainers, because their checkpoints cannot be read and their folders are
 * not modified.
 */
export async function requireOwn({ name, folder }: KnownRun): Promise<void> {
	if (await isRunFolder(folder)) return;
	throw new Failure(
		'unsupported',
		`${name} was written by another trainer.`,
		'Use a run with Reasoning Lab checkpoints.',
	);
}

interface SearchJob {
	readonly actions: ActionContext;
	readonly run: KnownRun;
	/** What the job is about, as shown to clients. */
	readonly subject: object;
	/** Whether a scorer sees the gold answer. If so, the result is an upper bound. */
	readonly upperBound: boolean;
	/** The call's signal. If it is aborted before the search has started, the search is stopped. */
	readonly signal: AbortSignal;
}

/** Runs a search as a job. Resolves when it has started, and fails if it cannot start. */
export async function startSearchJob(
	{ actions, run, subject, upperBound, signal }: SearchJob,
	begin: (context: SearchContext, signal: AbortSignal) => Promise<SearchSession>,
) {
	const started = deferred<void>();
	const job = actions.jobs.start('search', subject, ({ signal: stop, report }) =>
		withPolicies(actions, run, async (context) => {
			const session = await begin(context, stop);
			started.resolve();
			const timer = setInterval(() => {
				const { nodes, tokens, simulations, seconds } = session.progress;
				report({ done: nodes, total: nodes, nodes, tokens, simulations, seconds });
			}, reportMs);
			try {
				return searchAnswer(session, await session.result, upperBound);
			} finally {
				clearInterval(timer);
			}
		}).catch((error: unknown) => {
			started.reject(error);
			throw error;
		}),
	);
	await unlessAborted(started.promise, signal).catch((error: unknown) => {
		void actions.jobs.stop(job.id);
		throw error;
	});
	return shownJob(job);
}

function searchAnswer(session: SearchSession, { outcome, totals, message }: SearchResult, upper_bound: boolean) {
	return {
		answer: outcome.answer === null ? null : quote(outcome.answer),
		correct: session.correct,
		upper_bound,
		...{ value: outcome.value, stop: outcome.stop, message, ...totals },
		best_node: outcome.best?.at(-1) ?? null,
	};
}
