import { Failure } from '../base/failure.ts';
import { splitLines } from '../files/jsonLines.ts';
import { openRegular } from '../files/safeFile.ts';
import type { MetricsLine } from '../protocol/metricsLine.ts';
import { metricsLineSchema } from '../protocol/metricsLine.ts';
import { runFiles } from '../runs/runFiles.ts';
import { decodeLines } from '../runs/runReader.ts';

/** Latest values shown in a list row. */
export interface RunSummary {
	readonly reward: number | null;
	readonly accuracy: number | null;
	readonly tokensPerSecond: number | null;
}

const nothing: RunSummary = { reward: null, accuracy: null, tokensPerSecond: null };

/** Names of held-out accuracy metrics; other trainers use only the last one. */
const accuracyNames = ['eval/heldout/accuracy', 'eval/until/accuracy', 'eval/accuracy'];

/** Number of bytes read from the end of the metrics file, enough for several hundred steps. */
const tailBytes = 128 << 10;

/** Reads the end of metrics.jsonl; older values are ignored. */
export async function readSummary(run: string): Promise<RunSummary> {
	const handle = await openRegular(run, runFiles.metrics).catch((error: unknown) => {
		if (error instanceof Failure && (error.reason === 'missing' || error.reason === 'invalid')) return null;
		throw error;
	});
	if (handle === null) return nothing;
	try {
		const { size } = await handle.stat();
		const buffer = Buffer.allocUnsafe(Math.min(tailBytes, size));
		const { bytesRead } = await handle.read(buffer, 0, buffer.length, size - buffer.length);
		const { lines } = splitLines(buffer.subarray(0, bytesRead));
		// If the tail does not start at the beginning of the file, its first line is incomplete.
		return summarize(decodeLines(size > buffer.length ? lines.slice(1) : lines, metricsLineSchema));
	} finally {
		await handle.close();
	}
}

export function summarize(lines: readonly MetricsLine[]): RunSummary {
	return {
		reward: newest(lines, ['reward']),
		accuracy: newest(lines, accuracyNames),
		tokensPerSecond: newest(lines.slice(-1), ['throughput/tokens']),
	};
}

function newest(lines: readonly MetricsLine[], names: readonly string[]): number | null {
	for (let i = lines.length - 1; i >= 0; i--) {
		for (const name of names) {
			const value = lines[i]?.values[name];
			if (typeof value === 'number') return value;
		}
	}
	return null;
}
