import type { AbortSignalLike } from '../../base/async.ts';
import { sampleTitle } from '../../core/transcript/agentLogs.ts';
import type { ByteSource } from '../../files/byteSource.ts';
import { JsonCutter } from '../../files/jsonCutter.ts';
import { Turns } from '../../files/turns.ts';
import type { ZipArchive } from '../../files/zipArchive.ts';
import type { ZipMember } from '../../files/zipMember.ts';
import { topKeys } from '../importers/topKeys.ts';

/** Sample in an Inspect log, which is read only when it is shown. */
export interface LoggedSample {
	readonly title: string;
	/** Changes with the sample. */
	readonly stamp: string;
	/** Size in bytes of its JSON text. */
	readonly size: number;
	/** Reads its JSON text. Fails like `ZipArchive.pieces`. */
	readonly pieces: () => AsyncIterable<Buffer>;
}

const sampleName = /^samples\/([^/]+)\.json$/;
const epochName = /^(.+)_epoch_(\d{1,9})$/;

/** Lists the samples of an `.eval` file in its order. If a sample was written more than once, only the last copy counts. */
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

/** Returns whether a file starts like a log that Inspect wrote as JSON. */
export function isInspectLog(head: Buffer): boolean {
	const keys = topKeys(head.toString('utf8'));
	return keys.has('version') && keys.has('status') && keys.has('eval');
}

/** Maximum size in bytes of an archive, and of its decoded samples, whose samples are all read at once. */
const wholeArchiveBytes = 4 << 20;

/** Returns whether all samples of an `.eval` file are read at once: a small one without damage. */
export function isReadWhole({ damage }: ZipArchive, size: number, samples: readonly LoggedSample[]): boolean {
	const total = samples.reduce((sum, one) => sum + one.size, 0);
	return samples.length === 0 || (damage === null && size <= wholeArchiveBytes && total <= wholeArchiveBytes);
}

/** Limits on a JSON log: its size in bytes, the number of its samples, and the start of a sample that has its id. */
export const logLimits = { bytes: 2 ** 33, samples: 100_000, head: 4096 } as const;
const pieceBytes = 1 << 20;

/** Bytes of a log. */
type Log = Pick<ByteSource, 'size' | 'read'>;

/** Part of a JSON log. */
export interface WrittenSample {
	readonly title: string;
	readonly start: number;
	readonly end: number;
}

/** Samples of a JSON log. */
export interface WrittenSamples {
	readonly samples: readonly WrittenSample[];
	/** What is wrong with the log, as a sentence fragment; null if nothing is. */
	readonly damage: string | null;
}

async function* bytesOf(source: Log, start: number, end: number): AsyncGenerator<Buffer> {
	for (let at = start; at < end; ) {
		const piece = await source.read(at, Math.min(pieceBytes, end - at));
		if (piece.length === 0) throw new Error('ends too early: the file has become shorter');
		yield piece;
		at += piece.length;
	}
}

export function writtenSample(source: Log, { title, start, end }: WrittenSample): LoggedSample {
	return { title, stamp: `${start}:${end}`, size: end - start, pieces: () => bytesOf(source, start, end) };
}

/** Returns the title of a sample from the start of its JSON text. */
function titleOf(head: Buffer, number: number): string {
	const found: { id?: unknown; epoch?: unknown } = {};
	const shape = { id: { into: 'value', bytes: 1024 }, epoch: { into: 'value', bytes: 32 } } as const;
	const cutter = new JsonCutter(shape, ({ field, bytes }) => {
		try {
			found[field as 'id' | 'epoch'] = JSON.parse(bytes.toString('utf8'));
		} catch {
			// The title is then the number of the sample.
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
 * Lists the samples of a log that Inspect wrote as one JSON object, of which none is kept in memory. The text is read once.
 * If it is damaged or ends too early, the samples before that are listed. Fails with `cancelled` when the signal fires,
 * and otherwise only because of the system.
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
