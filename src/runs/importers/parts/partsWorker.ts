import { parentPort } from 'node:worker_threads';
import type { Frame } from '../../../files/frame.ts';
import { LineFile } from '../../../files/lineFile.ts';
import { SharedBytes } from '../../../files/sharedBytes.ts';
import { ZstdBytes } from '../../../files/zstdBytes.ts';
import type { PartsOrder, PartsReport, PartsRequest } from './partsMessages.ts';

/* Extracts parts of the records of large files, one file at a time. */

/** Maximum number of frames in a batch, and number of bytes of the file after which a batch is sent. */
const framesTogether = 128;
const bytesTogether = 4 << 20;
/** Number of batches that can be sent before the first is taken. */
const batchesAhead = 4;

let allowed = batchesAhead;
let proceed: (() => void) | null = null;

function send(report: PartsReport): void {
	parentPort?.postMessage(report);
}

async function give(frames: readonly Frame[]): Promise<void> {
	if (allowed === 0) {
		await new Promise<void>((resolve) => {
			proceed = resolve;
		});
	}
	allowed--;
	send({ kind: 'frames', frames });
}

async function read({ file, compressed, parts, after }: PartsRequest): Promise<void> {
	allowed = batchesAhead;
	const shared = new SharedBytes(file);
	const lines = new LineFile(compressed ? await ZstdBytes.open(shared) : shared, { parts });
	let frames: Frame[] = [];
	let bytes = 0;
	for await (const frame of lines.frames(undefined, after ?? undefined)) {
		frames.push(frame);
		bytes += frame.length;
		if (frames.length < framesTogether && bytes < bytesTogether) continue;
		await give(frames);
		frames = [];
		bytes = 0;
	}
	if (frames.length > 0) await give(frames);
}

parentPort?.on('message', (order: PartsOrder) => {
	if (order.kind === 'next') {
		allowed++;
		proceed?.();
		proceed = null;
		return;
	}
	read(order.request).then(
		() => send({ kind: 'end' }),
		(error: unknown) => send({ kind: 'failed', message: error instanceof Error ? error.message : String(error) }),
	);
});
