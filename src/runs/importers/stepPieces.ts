import { type AbortSignalLike, Sequencer } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import type { FrameFile, KnownPiece } from '../../files/frame.ts';
import type { FaultList } from '../faultList.ts';
import type { PathMatch } from './diskFolder.ts';
import type { FoundFile } from './folderView.ts';
import { contextOf, faultOf, understood } from './foreignStep.ts';
import { openFrames } from './openFrames.ts';
import type { RolloutFiles } from './runFormat.ts';

/** Which pieces of a file hold which step's rollouts, where the file's name has no step: known after one reading. */
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
	/** The step that the end of the file, which is not whole, was put to; null: it is whole. */
	#endAt: number | null = null;

	constructor(folder: string, files: RolloutFiles, match: PathMatch) {
		this.#folder = folder;
		this.#files = files;
		this.#match = match;
	}

	/** What cannot be read belongs to the step that was read before it: so it is told with that step, once. */
	read(
		found: FoundFile,
		faults: FaultList,
		signal?: AbortSignalLike,
	): Promise<ReadonlyMap<number, readonly KnownPiece[]>> {
		// Several who ask at once would each add what is new.
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
			frames = await openFrames(this.#folder, this.#match.path, this.#files.form, this.#files.largest);
		} catch (error) {
			// The other files of the run are none the worse for it.
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
					// Nothing is known of where such an event ends.
					if (torn || (this.#files.form === 'events' && frame.length === 0)) this.#endAt = this.#step;
					else this.#last = place;
					continue;
				}
				this.#last = place;
				for (const record of frame.records) {
					const context = contextOf({ match: this.#match }, this.#records++);
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

	/** The end of the file that was not whole at the last look is read again. */
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
