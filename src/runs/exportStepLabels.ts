import { basename, dirname } from 'node:path';
import { type AbortSignalLike, checkAborted } from '../base/async.ts';
import { chatOfText } from '../core/export/chatText.ts';
import type { ExportFormat } from '../core/export/exportFormat.ts';
import { writeMathShepherd } from '../core/export/prm/mathShepherd.ts';
import { writePrm800k } from '../core/export/prm/prm800k.ts';
import { writeProcessBench } from '../core/export/prm/processBench.ts';
import { readStepSamples } from '../core/export/prm/readStepSamples.ts';
import { type StepSample, sampleOfLabels } from '../core/export/prm/stepSample.ts';
import { type NeutralLabel, writeTrlStepwise } from '../core/export/prm/trlStepwise.ts';
import { type RolloutSelection, selectsPlace } from '../core/export/selection.ts';
import { formatLine, LineSplitter, parseLine } from '../files/jsonLines.ts';
import { openRegular } from '../files/safeFile.ts';
import type { RolloutLabels } from '../protocol/stepLabel.ts';
import { ownFormat } from './annotationFolder.ts';
import { type ExportCount, writeExport } from './exportRollouts.ts';
import type { ExportOptions, ExportSummary } from './rolloutExport.ts';
import type { RolloutSplit } from './runContent.ts';
import { StepLabels } from './stepLabels.ts';

export type LabelFormat = Extract<ExportFormat, 'prm800k' | 'trl-stepwise' | 'math-shepherd' | 'processbench'>;

export interface LabelExport {
	readonly as: LabelFormat;
	/** Seconds since the epoch, used for labels without a time. */
	readonly now: number;
	/** How to count a neutral step in formats that only distinguish correct and wrong. Default: wrong. */
	readonly neutral?: NeutralLabel;
}

/**
 * Returns a line in the export format, null if nothing in it is rated, or a sentence fragment if it cannot be written.
 */
function lineOf(sample: StepSample, { as, now, neutral }: LabelExport, id: string, generator: string) {
	switch (as) {
		case 'prm800k':
			return writePrm800k(sample, now);
		case 'trl-stepwise':
			return writeTrlStepwise(sample, neutral);
		case 'math-shepherd':
			return writeMathShepherd(sample, neutral);
		case 'processbench':
			return writeProcessBench(sample, { id, generator, correct: null });
	}
}

const unrated: Readonly<Record<LabelFormat, string>> = {
	prm800k: 'without a rated step',
	'trl-stepwise': 'whose first step is not rated',
	'math-shepherd': 'whose first step is not rated',
	processbench: 'with an unrated step before the first incorrect one',
};

/**
 * For another trainer's run, uses the question as the problem instead of the prompt text that a chat template built
 * from it.
 */
function sampleOf(labels: RolloutLabels, format: string): StepSample {
	const sample = sampleOfLabels(labels);
	const chat = format === ownFormat ? null : chatOfText(sample.prompt);
	if (chat === null || chat === 'unclear') return sample;
	const asked = chat.messages.filter(({ role }) => role !== 'system' && role !== 'developer');
	return asked.length === 1 ? { ...sample, prompt: asked[0]?.content ?? sample.prompt } : sample;
}

/** Exports human step ratings of a run's completions. */
export function exportStepLabels(
	run: { readonly folder: string; readonly format: string; readonly name: string },
	request: LabelExport & { readonly split?: RolloutSplit; readonly selection?: RolloutSelection },
	path: string,
	options: ExportOptions,
): Promise<ExportSummary> {
	return writeExport(run, request.as, path, options, async (lines, count) => {
		const labels = await StepLabels.of(run);
		const { split, selection = {} } = request;
		for (const one of await labels.all()) {
			checkAborted(options.signal);
			count.read++;
			const { step, group, index } = one;
			if (split !== undefined && one.split !== split) count.leaveOut(`from the other split (${one.split})`);
			else if (!selectsPlace(one, selection)) count.leaveOut('that are not selected');
			else {
				const line = lineOf(sampleOf(one, run.format), request, `${step}-${group}-${index}`, run.name);
				if (line === null) count.leaveOut(unrated[request.as]);
				else if (typeof line === 'string') count.leaveOut(line);
				else {
					await lines.append(formatLine(line));
					count.written++;
				}
			}
		}
		count.unreadable = labels.unreadable;
		return null;
	});
}

/** Converts a file of step-labeled data to another published format. */
export function convertStepLabels(
	file: string,
	request: LabelExport,
	path: string,
	options: ExportOptions,
): Promise<ExportSummary> {
	const source = { folder: file, format: ownFormat };
	return writeExport(
		source,
		request.as,
		path,
		options,
		async (lines, count) => {
			let number = 0;
			for await (const bytes of fileLines(file, count, options.signal)) {
				number++;
				if (bytes.length === 0) continue;
				const value = parseLine(bytes);
				count.read++;
				const samples = value === undefined ? 'is not JSON' : readStepSamples(value);
				if (typeof samples === 'string') {
					count.fault({ file, line: number, message: samples, records: 1 });
					continue;
				}
				for (const [i, sample] of samples.entries()) {
					const line = lineOf(sample, request, `${number}-${i}`, 'converted');
					if (line === null) count.leaveOut(unrated[request.as]);
					else if (typeof line === 'string') count.leaveOut(line);
					else {
						await lines.append(formatLine(line));
						count.written++;
					}
				}
				options.onProgress?.({ done: 0, total: 1, read: count.read, written: count.written });
			}
			return null;
		},
		'lines',
	);
}

const chunkBytes = 1 << 18;

/** Yields the lines of a file; lines over the read limit are counted as faults. */
async function* fileLines(
	path: string,
	count: ExportCount,
	signal: AbortSignalLike | undefined,
): AsyncGenerator<Uint8Array> {
	const handle = await openRegular(dirname(path), basename(path));
	try {
		const splitter = new LineSplitter();
		for (;;) {
			checkAborted(signal);
			const buffer = Buffer.allocUnsafe(chunkBytes);
			const { bytesRead } = await handle.read(buffer, 0, chunkBytes, null);
			// The last line might lack a line feed.
			yield* splitter.push(bytesRead === 0 ? Buffer.from('\n') : buffer.subarray(0, bytesRead));
			if (bytesRead === 0) break;
		}
		if (splitter.dropped > 0) {
			count.fault({ file: path, line: null, message: 'lines that are too long', records: splitter.dropped });
		}
	} finally {
		await handle.close();
	}
}
