/** A trainer's name for a metric. */
export interface TrainerName {
	/** As written by the trainer; `{part}` stands for any text and is repeated in `canonical`. */
	readonly name: string;
	/** The catalog metric. */
	readonly canonical: string;
	/** How its definition differs, as a sentence; absent if it does not. */
	readonly differs?: string;
	/** Set if the definition differs so much that it is not a value of the canonical metric and keeps its own name. */
	readonly akin?: true;
	/** Versions that write it, in words; absent: the current ones. */
	readonly versions?: string;
}

/** The metrics of one trainer. */
export interface Trainer {
	/** Names of its formats (RunFormat.name), lower case, letters and digits only. */
	readonly formats: readonly string[];
	/** Display name: "TRL". */
	readonly title: string;
	readonly names: readonly TrainerName[];
}

const own = (canonical: string, differs?: string): TrainerName => ({
	name: canonical,
	canonical,
	...(differs === undefined ? {} : { differs }),
});

/** Metrics that a trainer writes under their canonical names. */
export function sameNames(...canonical: readonly string[]): TrainerName[] {
	return canonical.map((name) => own(name));
}
