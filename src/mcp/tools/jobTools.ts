import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { formatCounted } from '../../base/format.ts';
import { pageOf } from '../answer.ts';
import * as input from '../inputs.ts';
import type { Job } from '../jobs.ts';
import { defineAction } from '../tool.ts';

const job = input.text('Job, as returned by start_search or start_evaluation.', 100);
const maxWait = 300;

/** A job as returned to clients. */
export function shownJob({ id, kind, subject, started, state, progress, result, failure }: Job): object {
	return {
		...{ job: id, kind, ...subject, state },
		started: new Date(started).toISOString(),
		...(state === 'running' ? { progress } : {}),
		...(result === null ? {} : { result }),
		...(failure === null ? {} : { error: failure.toJSON() }),
	};
}

export const listJobs = defineAction({
	name: 'list_jobs',
	title: 'List jobs',
	description: 'List the searches and evaluations that were started through this server, newest first, with progress.',
	effect: 'watch',
	input: v.object({ limit: input.limit(20), cursor: input.cursor }),
	async run({ limit, cursor }, { actions }) {
		const page = pageOf(actions.jobs.list(), cursor, limit);
		return { ...page, items: page.items.map(shownJob) };
	},
});

export const readJob = defineAction({
	name: 'read_job',
	title: 'Read a job',
	description: `Read the state, progress and result of a search or evaluation. Pass wait_seconds to wait until it ends, with progress notifications. Canceling the call does not stop the job; stop_job does.`,
	effect: 'watch',
	input: v.object({
		job,
		wait_seconds: v.optional(
			input.described(
				v.pipe(v.number(), v.minValue(0), v.maxValue(maxWait)),
				`Maximum time in seconds to wait for the job to end, at most ${maxWait}.`,
			),
			0,
		),
	}),
	async run({ job: id, wait_seconds }, { actions, signal, progress }) {
		const found = await actions.jobs.wait(id, wait_seconds * 1000, signal, (job) => {
			if (job.progress === null) return;
			const { done, total, message } = stepsOf(job);
			progress(done, total, message);
		});
		if (signal.aborted) throw new Failure('cancelled', 'Canceled. The job continues.');
		return shownJob(found);
	},
});

export const stopJob = defineAction({
	name: 'stop_job',
	title: 'Stop a job',
	description:
		'Stop a search or evaluation and return what it has found so far. Starting an evaluation again with the same settings continues it.',
	effect: 'control',
	input: v.object({ job }),
	run: async ({ job: id }, { actions }) => shownJob(await actions.jobs.stop(id)),
});

/** Progress of a job in questions (evaluation) or nodes (search). */
function stepsOf({ progress, kind }: Job): { done: number; total: number; message: string } {
	const { done, total } = { done: 0, total: 0, ...progress };
	if (kind === 'search') return { done, total, message: `Searching: ${formatCounted(done, 'node')}` };
	return { done, total, message: `Evaluating: ${done} of ${formatCounted(total, 'question')}` };
}
