import type { AbortSignalLike } from '../../base/async.ts';
import { sampleTitle } from '../../core/transcript/agentLogs.ts';
import type { ByteSource } from '../../files/byteSource.ts';
import { JsonCutter } from '../../files/jsonCutter.ts';
import { Turns } from '../../files/turns.ts';
import type { ZipArchive } from '../../files/zipArchive.ts';
import type { ZipMember } from '../../files/zipMember.ts';
import { topKeys } from '../importers/topKeys.ts';

/** A sample in an Inspect log; its text is read only when the sample is shown. */
export interface LoggedSample {
	readonly title: string;
	/** Changes when the sample changes. */
	readonly stamp: string;
	/** Size of the sample's JSON text, in bytes. */
	readonly size: number;
	/** Reads the JSON text. Fails with the same errors as `ZipArchive.pieces`. */
	readonly pieces: () => AsyncIterable<Buffer>;
}

const sampleName = /^samples\/([^/]+)\.json$/;
const epochName = /^(.+)_epoch_(\d{1,9})$/;

/**
 * Lists the samples in an `.eval` file in file order. If a sample was written more than once, only the last copy
 * counts.
 */
export function archivedSamples(archive: ZipArchive): LoggedSample[] {
	const members = new Map<string, ZipMember>();
	for (const member of archive.members) {
		const name = sampleName.exec(member.name)?.[1];
		if (name !== undefined) members.set(name, member);
	}
	return [...members].map(([name, member]) => {
		const [, id = name, epoch = '1'] = epochName.exec(name) ?? [];
		return {
			title: sampleTitle(id, Number(epoch)),
			stamp: `${member.offset}:${member.size}:${member.crc}`,
			size: member.size,
			pieces: () => archive.pieces(member),
		};
	});
}

/** Returns whether a file starts like a JSON log from Inspect. */
export function isInspectLog(head: Buffer): boolean {
	const keys = topKeys(head.toString('utf8'));
	return keys.has('version') && keys.has('status') && keys.has('eval');
}

/** Maximum size in bytes, both compressed and decoded, of an archive whose samples are all read at once. */
const wholeArchiveBytes = 4 << 20;

/** Returns whether to read all samples in an `.eval` file at once: true if it is small and undamaged, or has none. */
export function isReadWhole({ damage }: ZipArchive, size: number, samples: readonly LoggedSample[]): boolean {
	const total = samples.reduce((sum, one) => sum + one.size, 0);
	return samples.length === 0 || (damage === null && size <= wholeArchiveBytes && total <= wholeArchiveBytes);
}

/** Limits for a JSON log: size in bytes, number of samples, and bytes at the start of a sample to search for its id. */
export const logLimits = { bytes: 2 ** 33, samples: 100_000, head: 4096 } as const;
const pieceBytes = 1 << 20;

/** Access to a log's bytes. */
type Log = Pick<ByteSource, 'size' | 'read'>;

/** Location of a sample in a JSON log. */
export interface WrittenSample {
	readonly title: string;
	readonly start: number;
	readonly end: number;
}

/** The samples in a JSON log. */
export interface WrittenSamples {
	readonly samples: readonly WrittenSample[];
	/** What is wrong with the log, as a sentence fragment; null if nothing is. */
	readonly damage: string | null;
}

async function* bytesOf(source: Log, start: number, end: number): AsyncGenerator<Buffer> {
	for (let at = start; at < end; ) {
		const piece = await source.read(at, Math.min(pieceBytes, end - at));
		if (piece.length === 0) throw new Error('ends too early: the file has shrunk');
		yield piece;
		at += piece.length;
	}
}

export function writtenSample(source: Log, { title, start, end }: WrittenSample): LoggedSample {
	return { title, stamp: `${start}:${end}`, size: end - start, pieces: () => bytesOf(source, start, end) };
}

/** Returns a sample's title, read from the start of its JSON text. */
function titleOf(head: Buffer, number: number): string {
	const found: { id?: unknown; epoch?: unknown } = {};
	const shape = { id: { into: 'value', bytes: 1024 }, epoch: { into: 'value', bytes: 32 } } as const;
	const cutter = new JsonCutter(shape, ({ field, bytes }) => {
		try {
			found[field as 'id' | 'epoch'] = JSON.parse(bytes.toString('utf8'));
		} catch {
			// Fall back to the sample number as the title.
		}
	});
	try {
		cutter.push(head);
	} catch {
		return sampleTitle(number, 1);
	}
	const { id, epoch } = found;
	return sampleTitle(
		typeof id === 'string' || typeof id === 'number' ? id : number,
		typeof epoch === 'number' && Number.isSafeInteger(epoch) ? epoch : 1,
	);
}

/**
 * Lists the samples in a log that Inspect wrote as one JSON object, reading the text once and keeping no sample in
 * memory. If the text is damaged or ends too early, lists the samples before that point. Fails with `cancelled` when
 * the signal fires, and otherwise only on system errors.
 */
export async function writtenSamples(source: Log, signal?: AbortSignalLike): Promise<WrittenSamples> {
	const samples: WrittenSample[] = [];
	let more = 0;
	const cutter = new JsonCutter({ samples: { into: 'entries', bytes: logLimits.head } }, ({ bytes, start, end }) => {
		if (samples.length >= logLimits.samples) {
			more++;
			return;
		}
		samples.push({ title: titleOf(bytes, samples.length + 1), start, end });
	});
	const turns = new Turns(signal);
	try {
		for await (const piece of bytesOf(source, 0, source.size)) {
			cutter.push(piece);
			if (cutter.ended) break;
			if (turns.due) await turns.pass();
		}
	} catch (error) {
		if (!(error instanceof SyntaxError)) throw error;
		return { samples, damage: `is not valid JSON: ${error.message}` };
	}
	if (!cutter.ended) return { samples, damage: 'ends too early: samples are missing' };
	return { samples, damage: more === 0 ? null : `has ${more} more samples than can be listed` };
}
