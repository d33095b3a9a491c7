import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import { Failure } from '../../src/base/failure.ts';
import { checkTranscript } from '../../src/core/transcript/checkTranscript.ts';
import type { Finding } from '../../src/core/transcript/finding.ts';
import { readTranscript } from '../../src/core/transcript/readTranscript.ts';
import { type AnswerReferences, findReferences } from '../../src/core/transcript/references.ts';
import {
	type ContextPoint,
	contextPoints,
	type TokenTotals,
	tokenTotals,
} from '../../src/core/transcript/tokenTotals.ts';
import type { CallLink, Transcript, TranscriptFile, TranscriptMessage } from '../../src/core/transcript/transcript.ts';
import type { TranscriptCommand, TranscriptEvent, TranscriptPlace } from '../../src/protocol/transcriptMessages.ts';
import type { SavedState } from './savedState.ts';

/** The panel as seen by the model. */
export interface TranscriptHost {
	post(command: TranscriptCommand): void;
	loadText(version: number, from: number): Promise<{ text: string; next: number | null }>;
}

/** Parsed conversation, with findings and links. */
export interface Inspection {
	readonly transcript: Transcript;
	readonly findings: readonly Finding[];
	readonly references: readonly AnswerReferences[];
	readonly totals: TokenTotals;
	readonly points: readonly ContextPoint[];
	/** Findings, keyed by the first message that they refer to. */
	readonly findingsAt: ReadonlyMap<number, readonly Finding[]>;
	/** Call links, keyed by message and call. */
	readonly links: ReadonlyMap<string, CallLink>;
	/** For each message with a result: the message and call that it answers. */
	readonly answered: ReadonlyMap<number, CallLink>;
}

export type Change = 'source' | 'content' | 'open' | 'selected';

/** `loading`: the text is being received or parsed; `failed`: see `failure` for the reason. */
export type Phase = 'loading' | 'ready' | 'failed';

/** Panel state: the open file, its content, and the expanded messages. */
export class TranscriptModel extends Disposable {
	readonly #host: TranscriptHost;
	readonly #changed = this.register(new Emitter<ReadonlySet<Change>>());
	readonly onChange = this.#changed.event;
	#saved: SavedState | undefined;
	#version = -1;
	place: TranscriptPlace | null = null;
	label = '';
	phase: Phase = 'loading';
	/** Fraction of the text received, from 0 to 1. */
	progress = 0;
	failure: { readonly message: string; readonly action: string | null } | null = null;
	file: TranscriptFile | null = null;
	conversation = 0;
	inspection: Inspection | null = null;
	readonly open = new Set<number>();
	selected = 0;
	/** Index of the most recently visited finding. */
	finding = -1;

	constructor(host: TranscriptHost, saved: SavedState | undefined) {
		super();
		this.#host = host;
		this.#saved = saved;
	}

	get messages(): readonly TranscriptMessage[] {
		return this.inspection?.transcript.messages ?? [];
	}

	receive(event: TranscriptEvent): void {
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
		this.phase = 'loading';
		this.progress = 0;
		this.#tell('source');
		void this.#load(version, event.size);
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
		if (open) for (const { index } of this.messages) this.open.add(index);
		this.#tell('open', 'content');
	}

	select(index: number): void {
		const to = Math.max(0, Math.min(this.messages.length - 1, index));
		if (to === this.selected) return;
		this.selected = to;
		this.#tell('selected');
	}

	/** Expands and selects a message, and scrolls it into view. */
	jump(index: number): void {
		if (this.messages[index] === undefined) return;
		this.selected = index;
		this.open.add(index);
		this.#tell('selected', 'open');
	}

	/** Moves to the next or previous finding, wrapping around at the ends. */
	moveFinding(by: 1 | -1): Finding | null {
		const findings = this.inspection?.findings ?? [];
		if (findings.length === 0) return null;
		const from = this.finding === -1 && by === -1 ? 0 : this.finding;
		this.finding = (from + by + findings.length) % findings.length;
		const finding = findings[this.finding] as Finding;
		const [first] = finding.at;
		if (first) this.jump(first.message);
		return finding;
	}

	saved(): SavedState | null {
		const { place } = this;
		if (place === null) return null;
		return {
			place,
			conversation: this.conversation,
			open: [...this.open].sort((a, b) => a - b).slice(0, 500),
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
			const failure = Failure.from(error);
			// The text changed during the read. Ask the panel for the new text.
			if (failure.reason === 'mismatch') this.post({ type: 'ready' });
			else this.#fail(failure.message, failure.action ?? null);
			return;
		}
		this.phase = 'ready';
		this.failure = null;
		this.#restore();
		this.#inspect();
		this.#tell('source', 'content');
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
		const findings = checkTranscript(transcript);
		const findingsAt = new Map<number, Finding[]>();
		for (const finding of findings) {
			const index = finding.at[0]?.message;
			if (index === undefined) continue;
			const list = findingsAt.get(index);
			if (list) list.push(finding);
			else findingsAt.set(index, [finding]);
		}
		const links = new Map<string, CallLink>();
		const answered = new Map<number, CallLink>();
		for (const link of transcript.links) {
			links.set(linkKey(link.message, link.call), link);
			for (const result of link.results) answered.set(result, link);
		}
		const last = transcript.messages.length - 1;
		for (const index of [...this.open]) if (index > last) this.open.delete(index);
		this.selected = Math.min(this.selected, Math.max(0, last));
		this.finding = -1;
		this.inspection = {
			transcript,
			findings,
			references: findReferences(transcript),
			totals: tokenTotals(transcript),
			points: contextPoints(transcript),
			findingsAt,
			links,
			answered,
		};
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

export function linkKey(message: number, call: number): string {
	return `${message}:${call}`;
}
