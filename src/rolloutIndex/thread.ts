import { parentPort, workerData } from 'node:worker_threads';
import { Failure } from '../base/failure.ts';
import type { IndexOrder, IndexReport, IndexTask } from './indexTasks.ts';
import { transferables } from './rolloutRow.ts';
import { scanLines, scanStep } from './scanTasks.ts';
import { searchLines, searchStep } from './searchTasks.ts';

/* A thread of the index worker: processes rollouts, one task at a time. Reads block only this thread. */

const port = parentPort;
if (port === null) throw new Error('This program runs only as a thread of the index worker.');
const watch = new Float64Array((workerData as { watch: SharedArrayBuffer }).watch);

const signal = { aborted: false };
let proceed: (() => void) | null = null;

function send(report: IndexReport, moved: ArrayBuffer[] = []): void {
	port?.postMessage(report, moved);
}

/** Sends a batch and waits until it has been accepted. */
function give(report: IndexReport, moved: ArrayBuffer[] = []): Promise<void> {
	return new Promise((resolve) => {
		proceed = resolve;
		send(report, moved);
	});
}

async function run(task: IndexTask): Promise<IndexReport> {
	switch (task.kind) {
		case 'scanLines': {
			const result = await scanLines(
				task.range,
				(batch) => give({ kind: 'batch', batch }, transferables(batch)),
				signal,
			);
			return { kind: 'scanned', result };
		}
		case 'scanStep': {
			const result = await scanStep(task.step, (batch) => give({ kind: 'batch', batch }, transferables(batch)), signal);
			return { kind: 'scanned', result };
		}
		case 'searchLines': {
			const result = await searchLines(task, (hits, place) => give({ kind: 'hits', hits, place }), signal, watch);
			return { kind: 'searched', result };
		}
		case 'searchStep': {
			const result = await searchStep(task, (hits, place) => give({ kind: 'hits', hits, place }), signal, watch);
			return { kind: 'searched', result };
		}
	}
}

port.on('message', (order: IndexOrder) => {
	if (order.kind === 'cancel') signal.aborted = true;
	if (order.kind === 'next' || order.kind === 'cancel') {
		const resolve = proceed;
		proceed = null;
		resolve?.();
		return;
	}
	signal.aborted = false;
	run(order.task).then(send, (error: unknown) => {
		send({ kind: 'failed', failure: Failure.from(error).toJSON() });
	});
});
