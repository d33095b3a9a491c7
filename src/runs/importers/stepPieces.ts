import { type AbortSignalLike, Sequencer } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import type { FrameFile, KnownPiece } from '../../files/frame.ts';
import type { FaultList } from '../faultList.ts';
import type { PathMatch } from './diskFolder.ts';
import type { FoundFile } from './folderView.ts';
import { faultOf } from './foreignStep.ts';
import { openFrames } from './openFrames.ts';
import { plainContext, understood } from './recordContext.ts';
import type { RolloutFiles } from './runFormat.ts';

/** Maps steps to pieces of a file whose name contains no step. Requires reading the file once. */
export class StepPieces {
	readonly #folder: string;
	readonly #files: RolloutFiles;
	readonly #match: PathMatch;
	readonly #turns = new Sequencer();
	#stamp = '';
	#last: KnownPiece | null = null;
	#before: Uint8Array = new Uint8Array(0);
	#records = 0;
	#step = 0;
	#byStep = new Map<number, KnownPiece[]>();
	/** Step to which the incomplete end of the file was assigned; null if the file is complete. */
	#endAt: number | null = null;

	constructor(folder: string, files: RolloutFiles, match: PathMatch) {
		this.#folder = folder;
		this.#files = files;
		this.#match = match;
	}

	/**
	 * Reads new pieces. An unreadable piece is assigned to the preceding step, so that it is reported once, with that
	 * step.
	 */
	read(
		found: FoundFile,
		faults: FaultList,
		signal?: AbortSignalLike,
	): Promise<ReadonlyMap<number, readonly KnownPiece[]>> {
		// Concurrent callers would each add the same new pieces.
		return this.#turns.queue(() => this.#read(found, faults, signal));
	}

	async #read(
		found: FoundFile,
		faults: FaultList,
		signal: AbortSignalLike | undefined,
	): Promise<ReadonlyMap<number, readonly KnownPiece[]>> {
		if (this.#stamp === found.stamp) return this.#byStep;
		let frames: FrameFile;
		try {
			frames = await openFrames(this.#folder, this.#match.path, this.#files);
		} catch (error) {
			// The run's other files are unaffected.
			this.#clear(faults);
			const failure = Failure.from(error);
			if (failure.reason !== 'missing') {
				faults.add({ file: this.#match.path, line: null, message: failure.message, records: 1 });
			}
			return this.#byStep;
		}
		try {
			const end = this.#last === null ? 0 : this.#last.offset + this.#last.length;
			const before = await frames.bytesBefore(end);
			if (end === 0 || frames.size < end || Buffer.compare(before, this.#before) !== 0) this.#clear(faults);
			this.#takeEndBack();
			for await (const frame of frames.frames(signal, this.#last ?? undefined)) {
				const place = { offset: frame.offset, length: frame.length, number: frame.number };
				if (frame.fault !== null) {
					const { fault, torn, lost = 1 } = frame;
					this.#add(this.#step, { ...place, unread: { fault, torn, lost } });
					// The end of a torn record, or of an event without a known length, is unknown.
					if (torn || (this.#files.form === 'events' && frame.length === 0)) this.#endAt = this.#step;
					else this.#last = place;
					continue;
				}
				this.#last = place;
				for (const record of frame.records) {
					const context = plainContext(this.#match, this.#records++);
					const read = understood(this.#files, record, context);
					if (typeof read === 'string') {
						faults.add(faultOf({ match: this.#match, files: this.#files }, frame, read));
						this.#add(this.#step, place);
						continue;
					}
					for (const { step } of read) this.#add(Number.isSafeInteger(step) ? (step as number) : 0, place);
				}
			}
			this.#before =
				this.#last === null ? new Uint8Array(0) : await frames.bytesBefore(this.#last.offset + this.#last.length);
			this.#stamp = frames.stamp;
		} finally {
			await frames.close();
		}
		return this.#byStep;
	}

	/** Discards the end of the file that was incomplete at the last check, so that it is read again. */
	#takeEndBack(): void {
		if (this.#endAt === null) return;
		const places = this.#byStep.get(this.#endAt);
		places?.pop();
		if (places?.length === 0) this.#byStep.delete(this.#endAt);
		this.#endAt = null;
	}

	#add(step: number, place: KnownPiece): void {
		this.#step = step;
		const places = this.#byStep.get(step);
		if (places === undefined) this.#byStep.set(step, [place]);
		else if (places.at(-1)?.number !== place.number) places.push(place);
	}

	#clear(faults: FaultList): void {
		faults.forget(this.#match.path);
		this.#last = null;
		this.#records = 0;
		this.#step = 0;
		this.#byStep = new Map();
		this.#endAt = null;
		this.#stamp = '';
	}
}
