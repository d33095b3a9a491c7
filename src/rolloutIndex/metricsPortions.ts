import { LineFile } from '../files/lineFile.ts';
import { OpenedFile } from '../files/openedFile.ts';
import { decodeMetricsLine, type MetricsLine } from '../protocol/metricsLine.ts';
import type { RunContent } from '../runs/runContent.ts';
import { runFiles } from '../runs/runFiles.ts';

interface MetricsPortion {
	readonly lines: readonly MetricsLine[];
	/** File offset where reading ended. */
	readonly end: number;
}

const linesPerPortion = 500;

export async function* ownMetrics(folder: string, from: number, signal: AbortSignal): AsyncGenerator<MetricsPortion> {
	const file = await OpenedFile.open(folder, runFiles.metrics).catch(() => null);
	if (file === null) return;
	const reader = new LineFile(file);
	try {
		// If the file is now shorter, there is nothing more to read.
		const after = from === 0 ? undefined : { offset: from - 1, length: 0, number: 0 };
		let lines: MetricsLine[] = [];
		let end = from;
		for await (const frame of reader.frames(signal, after)) {
			if (frame.torn) break;
			end = frame.offset + frame.length + 1;
			const line = frame.fault === null ? decodeMetricsLine(frame.records[0]) : null;
			if (line !== null) lines.push(line);
			if (lines.length >= linesPerPortion) {
				yield { lines, end };
				lines = [];
			}
		}
		yield { lines, end };
	} finally {
		await reader.close();
	}
}

export async function* foreignMetrics(content: RunContent, signal: AbortSignal): AsyncGenerator<MetricsPortion> {
	for await (const lines of content.metrics(signal)) {
		for (let i = 0; i < lines.length; i += linesPerPortion)
			yield { lines: lines.slice(i, i + linesPerPortion), end: 0 };
	}
}
