import { NamePatterns } from './namePatterns.ts';
import type { Trainer, TrainerName } from './trainerName.ts';
import { art } from './trainers/art.ts';
import { nemoRl } from './trainers/nemoRl.ts';
import { openRlhf } from './trainers/openRlhf.ts';
import { primeRl } from './trainers/primeRl.ts';
import { rllm } from './trainers/rllm.ts';
import { skyRl } from './trainers/skyRl.ts';
import { tinker } from './trainers/tinker.ts';
import { trl } from './trainers/trl.ts';
import { verl } from './trainers/verl.ts';

export const trainers: readonly Trainer[] = [trl, verl, primeRl, openRlhf, nemoRl, skyRl, art, rllm, tinker];

/** A trainer metric's catalog entry. */
export interface KnownName {
	readonly trainer: Trainer;
	readonly entry: TrainerName;
	/** `entry.canonical` with its placeholders filled in. */
	readonly canonical: string;
}

/** Maximum number of names to remember. No trainer writes more, but a file can contain any number. */
const largestMemory = 20_000;

class Lookup {
	readonly #patterns: readonly (readonly [Trainer, NamePatterns<TrainerName>])[];
	readonly #memory = new Map<string, KnownName | null>();

	constructor(of: readonly Trainer[]) {
		this.#patterns = of.map((trainer) => [trainer, new NamePatterns(trainer.names, (entry) => entry.name)]);
	}

	find(name: string): KnownName | null {
		const known = this.#memory.get(name);
		if (known !== undefined) return known;
		const found = this.#search(name);
		if (this.#memory.size < largestMemory && name.length <= 200) this.#memory.set(name, found);
		return found;
	}

	#search(name: string): KnownName | null {
		for (const [trainer, patterns] of this.#patterns) {
			const match = patterns.match(name);
			if (match) return { trainer, entry: match.entry, canonical: match.fill(match.entry.canonical) };
		}
		return null;
	}
}

const lookups = new Map<string, Lookup>();

/** Normalizes a format name: `prime-rl`, `primeRl`, and `PRIME_RL` are the same format. */
const plainFormat = (format: string) => format.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/** Formats that do not record which trainer wrote them. Their metric names identify the trainer. */
const trackers: ReadonlySet<string> = new Set(['tensorboard', 'trackio', 'wandb', 'mlflow', 'mlflowfolders']);

/** Returns the trainers that could have written a run in this format. */
export function trainersOf(format: string): readonly Trainer[] {
	const plain = plainFormat(format);
	return trackers.has(plain) ? trainers : trainers.filter((trainer) => trainer.formats.includes(plain));
}

function lookupOf(format: string): Lookup {
	const plain = plainFormat(format);
	let lookup = lookups.get(plain);
	if (lookup === undefined) {
		lookup = new Lookup(trainersOf(format));
		if (lookups.size < 100) lookups.set(plain, lookup);
	}
	return lookup;
}

/** Looks up a trainer metric in the catalog. Returns null if it is unknown. */
export function knownName(format: string, foreignName: string): KnownName | null {
	return lookupOf(format).find(foreignName);
}

/**
 * Returns the canonical name of a trainer metric if the two differ only in details shown on hover. Otherwise, returns
 * the name unchanged.
 * @param format RunFormat.name; `tensorboard` for event files from an unknown trainer
 */
export function canonicalName(format: string, foreignName: string): string {
	const known = knownName(format, foreignName);
	return known === null || known.entry.akin ? foreignName : known.canonical;
}
