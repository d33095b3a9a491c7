import type { AbortSignalLike } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import type { Frame, FrameFile, FramePlace } from '../../files/frame.ts';
import { parseLooseJson } from '../../files/looseJson.ts';
import type { OpenedFile } from '../../files/openedFile.ts';
import { Turns } from '../../files/turns.ts';
import { ZipArchive } from '../../files/zipArchive.ts';
import type { ZipMember } from '../../files/zipMember.ts';
import { PathPattern } from './pathPattern.ts';

const decoder = new TextDecoder('utf-8');

/**
 * A zip archive with one JSON record per member that matches a pattern. If a member was written more than once,
 * only the last copy counts, as in Python's zipfile.
 */
export class ZipFile implements FrameFile {
	readonly #file: OpenedFile;
	readonly #pattern: PathPattern;
	readonly #largest: number;
	#archive: Promise<ZipArchive> | null = null;

	constructor(file: OpenedFile, members: string, largest: number) {
		this.#file = file;
		this.#pattern = new PathPattern(members);
		this.#largest = largest;
	}

	get size(): number {
		return this.#file.size;
	}

	get modifiedMs(): number {
		return this.#file.modifiedMs;
	}

	get stamp(): string {
		return this.#file.stamp;
	}

	async *frames(signal?: AbortSignalLike, after?: FramePlace): AsyncGenerator<Frame> {
		const turns = new Turns(signal);
		const archive = await this.#opened();
		const members = this.#matching(archive);
		for (const [i, member] of members.entries()) {
			if (i < (after?.number ?? 0)) continue;
			yield await this.#frame(archive, member, i + 1);
			if (turns.due) await turns.pass();
		}
		if (archive.damage === null || after !== undefined) return;
		// An archive that is still being copied has no directory yet.
		yield { ...placeOf(null, members.length + 1), records: [], fault: damaged(archive.damage, members), torn: true };
	}

	async frame(place: FramePlace): Promise<Frame> {
		const archive = await this.#opened();
		const member = this.#matching(archive).find(({ offset }) => offset === place.offset);
		if (member === undefined) return { ...place, records: [], fault: 'is missing', torn: false };
		return this.#frame(archive, member, place.number);
	}

	/** Returns the locations of the records by member name, or null if the archive is damaged. */
	async places(): Promise<ReadonlyMap<string, FramePlace> | null> {
		const archive = await this.#opened();
		if (archive.damage !== null) return null;
		return new Map(this.#matching(archive).map((member, i) => [member.name, placeOf(member, i + 1)]));
	}

	/**
	 * Returns another JSON file in the archive, or undefined if there is none. Fails with the same errors as
	 * `ZipArchive.read`.
	 */
	async member(name: string): Promise<unknown> {
		const archive = await this.#opened();
		const member = archive.members.findLast((one) => one.name === name);
		return member && parseLooseJson(decoder.decode(await archive.read(member, this.#largest)));
	}

	bytesBefore(position: number): Promise<Uint8Array> {
		return this.#file.bytesBefore(position);
	}

	close(): Promise<void> {
		return this.#file.close();
	}

	#opened(): Promise<ZipArchive> {
		this.#archive ??= ZipArchive.open(this.#file);
		return this.#archive;
	}

	#matching(archive: ZipArchive): readonly ZipMember[] {
		const byName = new Map<string, ZipMember>();
		for (const member of archive.members) {
			if (this.#pattern.match(member.name) !== null) byName.set(member.name, member);
		}
		return [...byName.values()];
	}

	async #frame(archive: ZipArchive, member: ZipMember, number: number): Promise<Frame> {
		const place = placeOf(member, number);
		const fault = (why: string): Frame => ({ ...place, records: [], fault: `${member.name} ${why}`, torn: false });
		let bytes: Buffer;
		try {
			bytes = await archive.read(member, this.#largest);
		} catch (error) {
			return fault(error instanceof Failure ? `cannot be read: ${error.message}` : (error as Error).message);
		}
		try {
			return { ...place, records: [parseLooseJson(decoder.decode(bytes))], fault: null, torn: false };
		} catch {
			return fault('is invalid JSON');
		}
	}
}

function placeOf(member: ZipMember | null, number: number): FramePlace {
	return { offset: member?.offset ?? 0, length: member?.packed ?? 0, number };
}

function damaged(why: string, members: readonly ZipMember[]): string {
	const found = members.length === 1 ? '1 sample was' : `${members.length} samples were`;
	return `a damaged zip archive (${why}): ${found} found without its directory; others might be missing`;
}
