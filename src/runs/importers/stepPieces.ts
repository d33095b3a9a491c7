import { type AbortSignalLike, Sequencer } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import type { Frame, FrameFile, KnownPiece } from '../../files/frame.ts';
import type { FaultSink } from '../faultList.ts';
import type { PathMatch } from './diskFolder.ts';
import type { FoundFile } from './folderView.ts';
import { faultOf } from './foreignStep.ts';
import { openFrames, withParts } from './openFrames.ts';
import { plainContext, understood } from './recordContext.ts';
import type { RolloutFiles } from './runFormat.ts';

/**
 * Maps steps to pieces of a file whose name contains no step. Requires reading the file only once, even if its records
 * are read in several ways, such as once for each split.
 */
export class StepPieces {
	readonly #folder: string;
	readonly #readings: readonly [Reading, ...Reading[]];
	readonly #match: PathMatch;
	readonly #turns = new Sequencer();
	#stamp = '';
	#last: KnownPiece | null = null;
	#before: Uint8Array = new Uint8Array(0);
	#records = 0;
	/** Whether errors of this file have been added since the pieces were last cleared. */
	#reported = false;
	/** The reading that the last piece was assigned to. Unreadable pieces after it are assigned to it as well. */
	#current: Reading;
	/** The reading and step that the incomplete end of the file was assigned to; null if the file is complete. */
	#end: { readonly reading: Reading; readonly step: number } | null = null;

	/** @param uses at least one way to read the records; all have the same form and parts */
	constructor(folder: string, uses: readonly RolloutFiles[], match: PathMatch) {
		this.#folder = folder;
		this.#readings = uses.map((files) => new Reading(files)) as [Reading, ...Reading[]];
		this.#match = match;
		this.#current = this.#readings[0];
	}

	/**
	 * Reads new pieces and returns those of one use. An unreadable piece is assigned to the preceding step, so that it is
	 * reported once, with that step.
	 */
	read(
		use: RolloutFiles,
		found: FoundFile,
		faults: FaultSink,
		signal?: AbortSignalLike,
	): Promise<ReadonlyMap<number, readonly KnownPiece[]>> {
		// Concurrent callers would each add the same new pieces.
		return this.#turns.queue(async () => {
			if (this.#stamp !== found.stamp) await this.#read(faults, signal);
			return this.#readings.find(({ files }) => files === use)?.byStep ?? new Map();
		});
	}

	async #read(faults: FaultSink, signal: AbortSignalLike | undefined): Promise<void> {
		const { files } = this.#readings[0];
		let frames: FrameFile;
		try {
			frames = await openFrames(this.#folder, this.#match.path, withParts(files, files.stepParts));
		} catch (error) {
			// The run's other files are unaffected.
			this.#clear(faults);
			const failure = Failure.from(error);
			if (failure.reason !== 'missing') {
				faults.add({ file: this.#match.path, line: null, message: failure.message, records: 1 });
			}
			return;
		}
		try {
			const end = this.#last === null ? 0 : this.#last.offset + this.#last.length;
			const before = await frames.bytesBefore(end);
			if (end === 0 || frames.size < end || Buffer.compare(before, this.#before) !== 0) this.#clear(faults);
			this.#takeEndBack();
			for await (const frame of frames.frames(signal, this.#last ?? undefined)) this.#addFrame(frame, faults);
			this.#before =
				this.#last === null ? new Uint8Array(0) : await frames.bytesBefore(this.#last.offset + this.#last.length);
			this.#stamp = frames.stamp;
		} finally {
			await frames.close();
		}
	}

	#addFrame(frame: Frame, faults: FaultSink): void {
		const place = { offset: frame.offset, length: frame.length, number: frame.number };
		if (frame.fault !== null) {
			const { fault, torn, lost = 1 } = frame;
			const reading = this.#current;
			reading.add(reading.step, { ...place, unread: { fault, torn, lost } });
			// The end of a torn record, or of an event without a known length, is unknown.
			if (torn || (reading.files.form === 'events' && frame.length === 0)) this.#end = { reading, step: reading.step };
			else this.#last = place;
			return;
		}
		this.#last = place;
		for (const record of frame.records) {
			const context = plainContext(this.#match, this.#records++);
			for (const reading of this.#readings) {
				const { files } = reading;
				const read = understood(files, record, context);
				if (typeof read === 'string') {
					faults.add(faultOf({ match: this.#match, files }, frame, read));
					this.#reported = true;
					reading.add(reading.step, place);
				} else {
					for (const { step } of read) reading.add(Number.isSafeInteger(step) ? (step as number) : 0, place);
				}
				if (read.length > 0) this.#current = reading;
			}
		}
	}

	/** Discards the part at the end of the file that was incomplete at the last check, so that it is read again. */
	#takeEndBack(): void {
		if (this.#end === null) return;
		const { reading, step } = this.#end;
		reading.removeLast(step);
		this.#end = null;
	}

	#clear(faults: FaultSink): void {
		// Another reader of the same file, such as the one for the other split, may have reported errors.
		if (this.#stamp !== '' || this.#reported) faults.forget(this.#match.path);
		this.#reported = false;
		this.#last = null;
		this.#records = 0;
		for (const reading of this.#readings) reading.clear();
		this.#current = this.#readings[0];
		this.#end = null;
		this.#stamp = '';
	}
}

/** The pieces of a file for one way of reading its records. */
class Reading {
	readonly files: RolloutFiles;
	byStep = new Map<number, KnownPiece[]>();
	/** Step of the last piece. */
	step = 0;

	constructor(files: RolloutFiles) {
		this.files = files;
	}

	add(step: number, place: KnownPiece): void {
		this.step = step;
		const places = this.byStep.get(step);
		if (places === undefined) this.byStep.set(step, [place]);
		else if (places.at(-1)?.number !== place.number) places.push(place);
	}

	removeLast(step: number): void {
		const places = this.byStep.get(step);
		places?.pop();
		if (places?.length === 0) this.byStep.delete(step);
	}

	clear(): void {
		this.byStep = new Map();
		this.step = 0;
	}
}
