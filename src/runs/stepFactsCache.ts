import type { AbortSignalLike } from '../base/async.ts';
import type { StepFacts } from '../core/diagnosis/stepFacts.ts';
import type { TraceTags } from '../core/trace/trace.ts';
import type { RunContent } from './runContent.ts';
import { factsOf, withStep } from './stepFactsOf.ts';

interface Kept {
	/** Identity of the step's files when they were read. */
	readonly identity: string;
	/** Answer tags used when they were read, as JSON. */
	readonly tags: string;
	/** `StepFacts` as JSON in UTF-8, which takes a quarter of the memory of the objects. */
	readonly facts: Buffer;
}

/**
 * Facts about steps, for programs that diagnose the same runs repeatedly. A step is read again if one of its files has
 * changed. The least recently used steps are dropped when the facts exceed the limit.
 */
export class StepFactsCache {
	readonly #maxBytes: number;
	/** Keyed by folder, format and step; least recently used first. */
	readonly #kept = new Map<string, Kept>();
	#bytes = 0;

	/** @param maxBytes maximum size of all facts, at about 50 bytes per rollout */
	constructor(maxBytes: number) {
		this.#maxBytes = maxBytes;
	}

	/** Size of the facts, in bytes. */
	get bytes(): number {
		return this.#bytes;
	}

	/** Same as `stepFactsOf`, but reads only new or changed rollouts. */
	async of(
		content: RunContent,
		step: number,
		tags: TraceTags | null,
		signal?: AbortSignalLike,
	): Promise<StepFacts | null> {
		return await withStep(content, step, async (opened) => {
			const key = JSON.stringify([content.folder, content.format, step]);
			const { identity } = opened;
			const readWith = JSON.stringify(tags);
			const known = this.#kept.get(key);
			if (known?.identity === identity && known.tags === readWith) {
				this.#keep(key, known);
				// Written by this object.
				return JSON.parse(known.facts.toString()) as StepFacts;
			}
			const facts = await factsOf(opened, step, tags, signal);
			if (facts === null) this.#drop(key);
			else this.#keep(key, { identity, tags: readWith, facts: Buffer.from(JSON.stringify(facts)) });
			return facts;
		});
	}

	#keep(key: string, kept: Kept): void {
		this.#drop(key);
		this.#kept.set(key, kept);
		this.#bytes += kept.facts.byteLength;
		for (const oldest of this.#kept.keys()) {
			if (this.#bytes <= this.#maxBytes) break;
			this.#drop(oldest);
		}
	}

	#drop(key: string): void {
		const kept = this.#kept.get(key);
		if (kept === undefined) return;
		this.#kept.delete(key);
		this.#bytes -= kept.facts.byteLength;
	}
}
