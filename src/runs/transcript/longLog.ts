import type { FileHandle } from 'node:fs/promises';
import { checkAborted } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import { transcriptLimits } from '../../core/transcript/readTranscript.ts';
import type { TranscriptFormat } from '../../core/transcript/transcript.ts';
import { readAt } from '../../files/readAt.ts';
import { isZip, ZipArchive } from '../../files/zipArchive.ts';
import { type LineConversation, readConversation } from './inspectLines.ts';
import {
	archivedSamples,
	isInspectLog,
	isReadWhole,
	type LoggedSample,
	logLimits,
	writtenSample,
	writtenSamples,
} from './loggedSamples.ts';
import { MessageLines, pagedBytes } from './messageLines.ts';
import { type ConversationContext, spoolSample } from './spooledLines.ts';

/** The conversations in a long file, read one at a time. */
export interface LongLog {
	readonly format: TranscriptFormat;
	readonly titles: readonly string[];
	/** Fails with `cancelled` when the signal fires, and with `unsupported` if the conversation has too many messages. */
	read(index: number, signal: AbortSignal): Promise<LineConversation>;
}

/**
 * Opens a long log the way the panel does; null if the file is short enough to be read whole. Fails with `invalid` if a
 * log has no samples, and with `cancelled` when the signal fires.
 * @param handle regular file, which must stay open while conversations are read
 * @param name file name to use in messages
 */
export async function openLongLog(
	path: string,
	handle: FileHandle,
	name: string,
	signal: AbortSignal,
): Promise<LongLog | null> {
	const { size } = await handle.stat();
	const source = { size, read: (offset: number, length: number) => readAt(handle, offset, length) };
	const head = await readAt(handle, 0, Math.min(size, 8192));
	if (isZip(head)) {
		const archive = await ZipArchive.open(source);
		const samples = archivedSamples(archive);
		if (isReadWhole(archive, size, samples)) return null;
		return logOf(samples, archive.damage === null ? [] : [`${name} is damaged: ${archive.damage}`]);
	}
	if (size >= pagedBytes && (await MessageLines.found(handle, size))) {
		return { format: 'jsonl', titles: ['All lines'], read: () => readLines(path, handle, size) };
	}
	if (size <= transcriptLimits.characters || size > logLimits.bytes || !isInspectLog(head)) return null;
	const { samples, damage } = await writtenSamples(source, signal);
	if (samples.length === 0) {
		const why = damage === null ? 'it has no samples' : `it ${damage}`;
		throw new Failure('invalid', `Cannot read the samples of ${name}: ${why}.`, 'Copy the log again.');
	}
	const own = samples.map((one) => writtenSample(source, one));
	return logOf(own, damage === null ? [] : [`${name} ${damage}`]);
}

/** @param problems with the file, reported with the first sample */
function logOf(samples: readonly LoggedSample[], problems: readonly string[]): LongLog {
	return {
		format: 'json',
		titles: samples.map(({ title }) => title),
		read: (index, signal) => readSample(samples[index] as LoggedSample, index === 0 ? problems : [], signal),
	};
}

async function readSample(
	sample: LoggedSample,
	problems: readonly string[],
	signal: AbortSignal,
): Promise<LineConversation> {
	const spooled = await spoolSample(sample, { problems, signal });
	const stop = () => void spooled.close();
	signal.addEventListener('abort', stop, { once: true });
	try {
		let { size } = spooled;
		await spooled.rest(async (now) => {
			size = now;
		});
		checkAborted(signal);
		return await readLines(spooled.path, spooled.handle, size, spooled.context);
	} finally {
		signal.removeEventListener('abort', stop);
		await spooled.close();
	}
}

async function readLines(
	path: string,
	handle: FileHandle,
	size: number,
	context?: ConversationContext,
): Promise<LineConversation> {
	// Fails if there are too many lines for their messages to fit in memory.
	await new MessageLines().extend(handle, size);
	const { dev, ino } = await handle.stat({ bigint: true });
	return await readConversation({ path, dev, ino, size, ...(context === undefined ? {} : { context }) });
}
