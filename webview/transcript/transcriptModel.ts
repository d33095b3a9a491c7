import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import { Failure } from '../../src/base/failure.ts';
import { readTranscript } from '../../src/core/transcript/readTranscript.ts';
import type {
	TranscriptFault,
	TranscriptFile,
	TranscriptFormat,
	TranscriptMessage,
} from '../../src/core/transcript/transcript.ts';
import type {
	LongInspection,
	TranscriptCommand,
	TranscriptEvent,
	TranscriptPlace,
} from '../../src/protocol/transcriptMessages.ts';
import { type Inspection, inspectedLines, inspectWhole, type ShownFinding } from './inspection.ts';
import { LineMessages } from './lineMessages.ts';
import { LineStore, type LoadedLines } from './lineStore.ts';
import type { SavedState } from './savedState.ts';

/** Panel interface used by the model. */
export interface TranscriptHost {
	post(command: TranscriptCommand): void;
	loadText(version: number, from: number): Promise<{ text: string; next: number | null }>;
	loadLines(version: number, from: number, count: number): Promise<LoadedLines>;
}

/** `inspected`: only the findings, links and tokens changed. */
export type Change = 'source' | 'content' | 'inspected' | 'open' | 'selected';

interface Snapshot extends Extract<TranscriptEvent, { type: 'snapshot' }> {}

/** `loading`: the text is being received or parsed; `failed`: see `failure` for the reason. */
export type Phase = 'loading' | 'ready' | 'failed';

/** Panel state: the open file, its content, and the expanded messages. */
export class TranscriptModel extends Disposable {
	readonly #host: TranscriptHost;
	readonly #changed = this.register(new Emitter<ReadonlySet<Change>>());
	readonly onChange = this.#changed.event;
	#saved: SavedState | undefined;
	#version = -1;
	/** Lines of text that is loaded line by line; null for any other text. */
	#store: LineStore | null = null;
	#lines: LineMessages | null = null;
	#found: LongInspection | null = null;
	readonly #loaded = this.register(new Emitter<{ readonly from: number; readonly end: number }>());
	/** Fires with the range of messages that have been loaded. */
	readonly onLoaded = this.#loaded.event;
	place: TranscriptPlace | null = null;
	label = '';
	phase: Phase = 'loading';
	/** Fraction of the text received, from 0 to 1. */
	progress = 0;
	failure: { readonly message: string; readonly action: string | null } | null = null;
	file: TranscriptFile | null = null;
	conversation = 0;
	/** The conversation shown, if the file contains several that are read one at a time. */
	sample: Snapshot['sample'] = null;
	/** null while a text that is loaded line by line is being checked. */
	inspection: Inspection | null = null;
	/** Why a text that is loaded line by line could not be checked. */
	checkFailure: string | null = null;
	readonly open = new Set<number>();
	selected = 0;
	/** Index of the most recently visited finding. */
	finding = -1;

	constructor(host: TranscriptHost, saved: SavedState | undefined) {
		super();
		this.#host = host;
		this.#saved = saved;
	}

	/** Number of messages. */
	get count(): number {
		return this.#lines?.count ?? this.#transcript?.messages.length ?? 0;
	}

	get format(): TranscriptFormat | 'inspect' {
		if (this.place?.kind === 'rollout') return 'rollout';
		if (this.sample !== null) return 'inspect';
		return this.#lines === null ? (this.file?.format ?? 'json') : 'jsonl';
	}

	get faults(): { readonly listed: readonly TranscriptFault[]; readonly more: number } {
		const { faults = [], moreFaults = 0 } = (this.#lines === null ? this.file : this.#found) ?? {};
		return { listed: faults, more: moreFaults };
	}

	/** Whether all messages are still being checked. */
	get checking(): boolean {
		return this.#lines !== null && this.inspection === null && this.checkFailure === null;
	}

	/** Returns a message, or null if it is still loading or does not exist. */
	message(index: number): TranscriptMessage | null {
		if (index < 0 || index >= this.count) return null;
		if (this.#lines === null) return this.#transcript?.messages[index] ?? null;
		const message = this.#lines.at(index);
		// A sample's messages are lines in a temporary file.
		return message === null || this.sample === null ? message : { ...message, place: null };
	}

	get #transcript() {
		return this.file?.transcripts[this.conversation];
	}

	receive(event: TranscriptEvent): void {
		if (event.type === 'snapshot') this.#receiveSnapshot(event);
		else if (event.version === this.#version && this.#store !== null) this.#receiveInspection(event);
	}

	#receiveSnapshot(event: Snapshot): void {
		const { place, label, version, failure } = event;
		this.place = place;
		this.label = label;
		if (failure !== null) {
			this.#version = version;
			this.#fail(failure.message, failure.action);
			return;
		}
		if (version === this.#version && this.phase === 'ready') {
			this.#tell('source');
			return;
		}
		this.#version = version;
		const other = event.sample !== null && this.sample !== null && event.sample.index !== this.sample.index;
		this.sample = event.sample;
		if (other) {
			this.open.clear();
			this.selected = 0;
		}
		if (this.#wantsOther(event.sample)) return;
		if (event.lines !== null) {
			this.#showLines(event.lines, event.grown);
			return;
		}
		this.#closeLines();
		this.phase = 'loading';
		this.progress = 0;
		this.#tell('source');
		void this.#load(version, event.size);
	}

	/** After a reload, requests the previously shown sample. */
	#wantsOther(sample: Snapshot['sample']): boolean {
		const saved = this.#saved;
		if (sample === null || saved === undefined || JSON.stringify(saved.place) !== JSON.stringify(this.place))
			return false;
		const { conversation } = saved;
		if (conversation === sample.index || conversation >= sample.count) return false;
		this.post({ type: 'chooseSample', index: conversation });
		return true;
	}

	#showLines(count: number, grown: boolean): void {
		if (grown && this.#store !== null) this.#store.grow(count);
		else {
			this.#closeLines();
			this.file = null;
			this.inspection = null;
			this.#store = new LineStore(count, (from, more) => this.#host.loadLines(this.#version, from, more), {
				loaded: (from, end) => {
					if (this.#lines !== null) this.#loaded.fire(this.#lines.within(from, end));
				},
				failed: (error) => this.#notLoaded(error),
			});
		}
		this.#lines = new LineMessages(this.#store as LineStore, this.#found);
		this.phase = 'ready';
		this.failure = null;
		this.#restore();
		this.#limitToCount();
		this.#tell('source', 'content');
	}

	#receiveInspection({ inspection, failure }: Extract<TranscriptEvent, { type: 'inspected' }>): void {
		const before = this.#lines;
		if (this.#store === null || before === null) return;
		this.checkFailure = failure;
		this.#found = inspection;
		this.inspection = inspection === null ? null : inspectedLines(inspection);
		this.finding = -1;
		// A sample's tokens and attachments are read after its messages.
		if (this.sample !== null) this.#store.reload();
		const lines = new LineMessages(this.#store, inspection);
		this.#lines = lines;
		const moved = inspection !== null && inspection.lineOf !== null;
		if (!moved && lines.count === before.count) {
			this.#tell('source', 'inspected');
			return;
		}
		// Message numbers can change now that it is known which lines are messages.
		const now = (index: number): number => lines.first(before.lineOf(index));
		const open = [...this.open].map(now);
		this.open.clear();
		for (const index of open) this.open.add(index);
		this.selected = now(this.selected);
		this.#limitToCount();
		this.#tell('source', 'content');
	}

	#closeLines(): void {
		this.#store?.close();
		this.#store = null;
		this.#lines = null;
		this.#found = null;
		this.checkFailure = null;
	}

	#limitToCount(): void {
		const last = this.count - 1;
		for (const index of this.open) if (index > last) this.open.delete(index);
		this.selected = Math.max(0, Math.min(this.selected, last));
	}

	post(command: TranscriptCommand): void {
		this.#host.post(command);
	}

	chooseConversation(index: number): void {
		if (index === this.conversation || this.file?.transcripts[index] === undefined) return;
		this.conversation = index;
		this.open.clear();
		this.selected = 0;
		this.#inspect();
		this.#tell('content');
	}

	toggle(index: number, open = !this.open.has(index)): void {
		if (open) this.open.add(index);
		else this.open.delete(index);
		this.#tell('open');
	}

	toggleAll(open: boolean): void {
		this.open.clear();
		if (open) for (let index = 0; index < this.count; index++) this.open.add(index);
		this.#tell('open', 'content');
	}

	select(index: number): void {
		const to = Math.max(0, Math.min(this.count - 1, index));
		if (to === this.selected) return;
		this.selected = to;
		this.#tell('selected');
	}

	/** Expands and selects a message, and scrolls it into view. */
	jump(index: number): void {
		if (index < 0 || index >= this.count) return;
		this.selected = index;
		this.open.add(index);
		this.#tell('selected', 'open');
	}

	/** Moves to the next or previous finding, wrapping around at the ends. */
	moveFinding(by: 1 | -1): ShownFinding | null {
		const findings = this.inspection?.findings ?? [];
		if (findings.length === 0) return null;
		const from = this.finding === -1 && by === -1 ? 0 : this.finding;
		this.finding = (from + by + findings.length) % findings.length;
		const finding = findings[this.finding] as ShownFinding;
		const [first] = finding.at;
		if (first) this.jump(first.message);
		return finding;
	}

	saved(): SavedState | null {
		const { place } = this;
		if (place === null) return null;
		return {
			place,
			conversation: this.sample?.index ?? this.conversation,
			open: [...this.open].slice(0, 500).sort((a, b) => a - b),
			selected: this.selected,
		};
	}

	async #load(version: number, size: number): Promise<void> {
		const pieces: string[] = [];
		try {
			for (let from: number | null = 0; from !== null; ) {
				const piece: { text: string; next: number | null } = await this.#host.loadText(version, from);
				if (version !== this.#version || this.disposed) return;
				pieces.push(piece.text);
				from = piece.next;
				this.progress = from === null || size === 0 ? 1 : Math.min(1, from / size);
				this.#tell('source');
			}
			this.file = readTranscript(pieces.join(''), this.label);
		} catch (error) {
			if (version !== this.#version || this.disposed) return;
			this.#notLoaded(error);
			return;
		}
		this.phase = 'ready';
		this.failure = null;
		this.#restore();
		this.#inspect();
		this.#tell('source', 'content');
	}

	#notLoaded(error: unknown): void {
		const failure = Failure.from(error);
		// The text changed during the read. Ask the panel for the new text.
		if (failure.reason === 'mismatch') this.post({ type: 'ready' });
		else this.#fail(failure.message, failure.action ?? null);
	}

	/** Restores the expanded messages after a reload, or after the file has grown. */
	#restore(): void {
		const saved = this.#saved;
		this.#saved = undefined;
		const count = this.file?.transcripts.length ?? 0;
		if (saved && JSON.stringify(saved.place) === JSON.stringify(this.place)) {
			this.conversation = saved.conversation;
			for (const index of saved.open) this.open.add(index);
			this.selected = saved.selected ?? 0;
		}
		if (this.conversation >= count) this.conversation = 0;
	}

	#inspect(): void {
		const transcript = this.file?.transcripts[this.conversation];
		if (transcript === undefined) return;
		this.#limitToCount();
		this.finding = -1;
		this.inspection = inspectWhole(transcript);
	}

	#fail(message: string, action: string | null): void {
		this.phase = 'failed';
		this.failure = { message, action };
		this.#tell('source');
	}

	#tell(...changes: Change[]): void {
		this.#changed.fire(new Set(changes));
	}
}
